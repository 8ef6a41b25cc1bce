#pragma once

// Descriptors that are waited for.

#include <stdint.h>
#include <sys/types.h>

/// What a descriptor is ready for, or waited for: the bits of an interest and of an event.
enum csluice_readiness {
    csluice_readable = 1,
    csluice_writable = 2,
    /// The other side has gone. Comes unasked.
    csluice_hung_up = 4,
    /// It failed, or of a pipe's writing end: nobody reads. Comes unasked.
    csluice_failed = 8,
    /// The number is not open. From poll(2) alone.
    csluice_not_open = 16,
    /// Asks for every event, not for one.
    csluice_repeatedly = 32,
};

struct csluice_event {
    uint64_t token;
    uint32_t readiness;
    int descriptor;
};

// Waiting for many: epoll(7). -ENOSYS where there is none.
int csluice_epoll_create(void);
/// Adds, or with `again` arms anew, a registration that gives one event and is then at rest (EPOLLONESHOT), unless told otherwise.
int csluice_epoll_set(int queue, int descriptor, uint32_t readiness, uint64_t token, int again);
int csluice_epoll_remove(int queue, int descriptor);
int csluice_epoll_wait(int queue, struct csluice_event *events, int count, int milliseconds);

// Waiting for many: poll(2). An entry with a negative descriptor is left out.
/// Fills `readiness` of each entry in, and returns how many have any.
int csluice_poll_many(struct csluice_event *entries, int count, int milliseconds);

// Waking who waits: eventfd(2), both ends one descriptor, and a pipe where there is none.
int csluice_wakeup_open(int ends[2]);
int csluice_wakeup_signal(int writing);
int csluice_wakeup_clear(int reading);

// Reading and writing what is there, without waiting.
enum csluice_manner {
    /// read(2), write(2) on a descriptor that is non-blocking, or of which poll(2) has said that it will not block.
    csluice_manner_plain = 0,
    /// recv(2), send(2) with MSG_DONTWAIT.
    csluice_manner_socket = 1,
    /// preadv2(2), pwritev2(2) with RWF_NOWAIT: pipes and sockets of Linux, not its FIFOs or terminals.
    csluice_manner_no_wait = 2,
};
ssize_t csluice_read_now(int descriptor, void *into, size_t count, int manner);
/// Raises no SIGPIPE, on whatever thread it runs.
ssize_t csluice_write_now(int descriptor, const void *from, size_t count, int manner);

/// The next connection of a listening socket that doesn't block; neither does the connection, and child processes don't inherit it.
int csluice_accept(int listening);

/// The kind of file (S_IFMT) behind a descriptor, without asking a server for it.
int csluice_kind(int descriptor);
/// The state of a descriptor now: bits of csluice_readiness. Does not wait.
int csluice_readiness_now(int descriptor);
/// Whether poll and non-blocking calls mean anything for this device: 1 or 0.
int csluice_can_be_waited_for(int descriptor);
/// The flags of the open file (O_NONBLOCK among them), and setting them. See fcntl(2).
int csluice_get_flags(int descriptor);
int csluice_set_flags(int descriptor, int flags);
/// Opens what is behind a FIFO's or terminal's descriptor once more, with flags of its own. -ENOTSUP where that cannot be.
int csluice_reopen(int descriptor, int flags);
