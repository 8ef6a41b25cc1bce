#pragma once

// Waiting for descriptors.

#include <stdint.h>
#include <sys/types.h>

/// The events that a descriptor is armed for or is ready for.
enum csluice_readiness {
    csluice_readable = 1,
    csluice_writable = 2,
    /// The other side has gone. Reported without being requested.
    csluice_hung_up = 4,
    /// The descriptor failed, or it's the writing end of a pipe without a reader. Reported without being requested.
    csluice_failed = 8,
    /// The number isn't open. Only from poll(2).
    csluice_not_open = 16,
    /// Requests every event instead of one.
    csluice_repeatedly = 32,
};

struct csluice_event {
    uint64_t token;
    uint32_t readiness;
    int descriptor;
};

// Waiting for many descriptors: epoll(7). -ENOSYS where it is missing.
int csluice_epoll_create(void);
/// Adds a registration, or with `again` arms it again. It gives one event (EPOLLONESHOT) unless csluice_repeatedly is set.
int csluice_epoll_set(int queue, int descriptor, uint32_t readiness, uint64_t token, int again);
int csluice_epoll_remove(int queue, int descriptor);
int csluice_epoll_wait(int queue, struct csluice_event *events, int count, int milliseconds);

// Waiting for many descriptors: poll(2). Entries with a negative descriptor are ignored.
/// Sets `readiness` of each entry, and returns how many are ready.
int csluice_poll_many(struct csluice_event *entries, int count, int milliseconds);

// Waking a waiting thread: eventfd(2), where both ends are one descriptor, or a pipe where it is missing.
int csluice_wakeup_open(int ends[2]);
int csluice_wakeup_signal(int writing);
int csluice_wakeup_clear(int reading);

// Reading and writing without waiting.
enum csluice_manner {
    /// read(2), write(2) on a descriptor that is non-blocking, or that poll(2) has reported as ready.
    csluice_manner_plain = 0,
    /// recv(2), send(2) with MSG_DONTWAIT.
    csluice_manner_socket = 1,
    /// preadv2(2), pwritev2(2) with RWF_NOWAIT: for pipes and sockets of Linux, but not for its FIFOs or terminals.
    csluice_manner_no_wait = 2,
};
ssize_t csluice_read_now(int descriptor, void *into, size_t count, int manner);
/// Raises no SIGPIPE, on any thread.
ssize_t csluice_write_now(int descriptor, const void *from, size_t count, int manner);

/// Accepts a connection of a non-blocking listening socket. The connection is non-blocking, and child processes don't inherit it.
int csluice_accept(int listening);

/// Returns the kind (S_IFMT) of a descriptor's file, without asking a file server.
int csluice_kind(int descriptor);
/// Returns the current bits of csluice_readiness. Doesn't wait.
int csluice_readiness_now(int descriptor);
/// Returns 1 if this device can be waited for and used without blocking, otherwise 0.
int csluice_can_be_waited_for(int descriptor);
/// Returns or sets the flags of the open file, such as O_NONBLOCK. See fcntl(2).
int csluice_get_flags(int descriptor);
int csluice_set_flags(int descriptor, int flags);
/// Opens the file of a FIFO's or terminal's descriptor a second time, with separate flags. -ENOTSUP if that isn't possible.
int csluice_reopen(int descriptor, int flags);
