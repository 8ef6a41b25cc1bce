#include "internal.h"

// Waiting for descriptors.

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#endif

// MARK: Waiting for many descriptors

#ifdef __linux__
int csluice_epoll_create(void) { RESULT(csluice_above_standard_streams(epoll_create1(EPOLL_CLOEXEC))); }

int csluice_epoll_set(int queue, int descriptor, uint32_t readiness, uint64_t token, int again) {
    struct epoll_event event = {.events = readiness & csluice_repeatedly ? 0 : EPOLLONESHOT, .data.u64 = token};
    if (readiness & csluice_readable) event.events |= EPOLLIN | EPOLLRDHUP;
    if (readiness & csluice_writable) event.events |= EPOLLOUT;
    RESULT(epoll_ctl(queue, again ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event));
}

int csluice_epoll_remove(int queue, int descriptor) {
    struct epoll_event unused = {0};
    RESULT(epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, &unused));
}

int csluice_epoll_wait(int queue, struct csluice_event *events, int count, int milliseconds) {
    struct epoll_event found[256];
    if (count > 256) count = 256;
    int result = epoll_wait(queue, found, count, milliseconds);
    if (result < 0) return -errno;
    for (int index = 0; index < result; index++) {
        uint32_t bits = found[index].events;
        uint32_t readiness = 0;
        if (bits & (EPOLLIN | EPOLLRDHUP | EPOLLPRI)) readiness |= csluice_readable;
        if (bits & EPOLLOUT) readiness |= csluice_writable;
        if (bits & EPOLLHUP) readiness |= csluice_hung_up;
        if (bits & EPOLLERR) readiness |= csluice_failed;
        events[index] = (struct csluice_event){.token = found[index].data.u64, .readiness = readiness, .descriptor = -1};
    }
    return result;
}
#else
int csluice_epoll_create(void) { return -ENOSYS; }
int csluice_epoll_set(int queue, int descriptor, uint32_t readiness, uint64_t token, int again) {
    (void)queue, (void)descriptor, (void)readiness, (void)token, (void)again;
    return -ENOSYS;
}
int csluice_epoll_remove(int queue, int descriptor) {
    (void)queue, (void)descriptor;
    return -ENOSYS;
}
int csluice_epoll_wait(int queue, struct csluice_event *events, int count, int milliseconds) {
    (void)queue, (void)events, (void)count, (void)milliseconds;
    return -ENOSYS;
}
#endif

static uint32_t readiness_of(short bits) {
    uint32_t readiness = 0;
    if (bits & (POLLIN | POLLPRI)) readiness |= csluice_readable;
    if (bits & POLLOUT) readiness |= csluice_writable;
    if (bits & POLLHUP) readiness |= csluice_hung_up;
    if (bits & POLLERR) readiness |= csluice_failed;
    if (bits & POLLNVAL) readiness |= csluice_not_open;
    return readiness;
}

int csluice_poll_many(struct csluice_event *entries, int count, int milliseconds) {
    struct pollfd *list = malloc(sizeof *list * (size_t)(count > 0 ? count : 1));
    if (!list) return -ENOMEM;
    for (int index = 0; index < count; index++) {
        short events = 0;
        if (entries[index].readiness & csluice_readable) events |= POLLIN;
        if (entries[index].readiness & csluice_writable) events |= POLLOUT;
        list[index] = (struct pollfd){.fd = entries[index].descriptor, .events = events};
    }
    int result = poll(list, (nfds_t)count, milliseconds);
    if (result < 0) result = -errno;
    for (int index = 0; index < count; index++)
        entries[index].readiness = result > 0 ? readiness_of(list[index].revents) : 0;
    free(list);
    return result;
}

// MARK: Waking a waiting thread

int csluice_wakeup_open(int ends[2]) {
#ifdef __linux__
    int result = csluice_above_standard_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (result < 0) return -errno;
    ends[0] = ends[1] = result;
    return 0;
#else
    if (pipe(ends) < 0) return -errno;
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
        fcntl(ends[index], F_SETFL, O_NONBLOCK);
    }
    return 0;
#endif
}

int csluice_wakeup_signal(int writing) {
    uint64_t one = 1;
    ssize_t result = write(writing, &one, sizeof one);
    // EAGAIN means that a wake-up is already pending.
    return result < 0 && errno != EAGAIN ? -errno : 0;
}

int csluice_wakeup_clear(int reading) {
    uint64_t found[64];
    while (read(reading, found, sizeof found) == (ssize_t)sizeof found) {}
    return 0;
}

// MARK: Without waiting

ssize_t csluice_read_now(int descriptor, void *into, size_t count, int manner) {
    switch (manner) {
    case csluice_manner_socket: { RESULT(recv(descriptor, into, count, MSG_DONTWAIT)); }
    case csluice_manner_no_wait: {
#if defined(__linux__) && defined(RWF_NOWAIT)
        struct iovec piece = {.iov_base = into, .iov_len = count};
        RESULT(preadv2(descriptor, &piece, 1, -1, RWF_NOWAIT));
#else
        return -EOPNOTSUPP;
#endif
    }
    default: { RESULT(read(descriptor, into, count)); }
    }
}

static ssize_t write_once(int descriptor, const void *from, size_t count, int manner) {
    switch (manner) {
    case csluice_manner_socket: {
#ifdef MSG_NOSIGNAL
        RESULT(send(descriptor, from, count, MSG_DONTWAIT | MSG_NOSIGNAL));
#else
        RESULT(send(descriptor, from, count, MSG_DONTWAIT));
#endif
    }
    case csluice_manner_no_wait: {
#if defined(__linux__) && defined(RWF_NOWAIT)
        struct iovec piece = {.iov_base = (void *)from, .iov_len = count};
        RESULT(pwritev2(descriptor, &piece, 1, -1, RWF_NOWAIT));
#else
        return -EOPNOTSUPP;
#endif
    }
    default: { RESULT(write(descriptor, from, count)); }
    }
}

ssize_t csluice_write_now(int descriptor, const void *from, size_t count, int manner) {
#ifdef MSG_NOSIGNAL
    if (manner == csluice_manner_socket) return write_once(descriptor, from, count, manner);
#endif
    // A write to a pipe without a reader sends SIGPIPE to this thread, which may be one of the program's. The signal is blocked during
    // the write and removed before it is unblocked.
    sigset_t broken, before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t result = write_once(descriptor, from, count, manner);
    if (sigismember(&before, SIGPIPE) == 0) {
        if (result == -EPIPE) {
            sigset_t pending;
            int taken;
            // It isn't pending if the program ignores the signal.
            if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1) sigwait(&broken, &taken);
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return result;
}

int csluice_kind(int descriptor) {
#if defined(__linux__) && defined(SYS_statx) && defined(AT_STATX_DONT_SYNC)
    // fstat(2) may wait for a file server. The kind of an open file is known without asking it.
    struct statx found;
    if (syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &found) == 0)
        return found.stx_mode & S_IFMT;
    if (errno != ENOSYS && errno != EPERM && errno != EINVAL) return -errno;
#endif
    struct stat status;
    if (fstat(descriptor, &status) < 0) return -errno;
    return status.st_mode & S_IFMT;
}

int csluice_readiness_now(int descriptor) {
    struct pollfd entry = {.fd = descriptor, .events = POLLIN | POLLOUT};
    int result = poll(&entry, 1, 0);
    return result < 0 ? -errno : (int)readiness_of(entry.revents);
}

int csluice_can_be_waited_for(int descriptor) {
    if (isatty(descriptor)) return 1;
#ifdef __linux__
    // /dev/null and similar devices have no poll operation, and fail with EPERM.
    int queue = epoll_create1(EPOLL_CLOEXEC);
    if (queue < 0) return 0;
    struct epoll_event event = {.events = EPOLLONESHOT};
    int result = epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event);
    close(queue);
    return result == 0;
#else
    return 0;
#endif
}

int csluice_get_flags(int descriptor) { RESULT(fcntl(descriptor, F_GETFL)); }
int csluice_set_flags(int descriptor, int flags) { RESULT(fcntl(descriptor, F_SETFL, flags)); }

int csluice_reopen(int descriptor, int flags) {
#ifdef __linux__
    struct stat status;
    if (fstat(descriptor, &status) < 0) return -errno;
    if (S_ISCHR(status.st_mode)) {
        // Opening the controlling side of a pseudo-terminal (/dev/ptmx, or /dev/pts/ptmx) would create a new terminal.
        if (!isatty(descriptor)) return -ENOTSUP;
        unsigned int number;
        if (ioctl(descriptor, TIOCGPTN, &number) == 0) return -ENOTSUP;
    } else if (!S_ISFIFO(status.st_mode)) {
        return -ENOTSUP;
    }
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    RESULT(csluice_above_standard_streams(open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
#else
    // Opening /dev/fd doesn't open the file again there: both descriptors share the flags.
    (void)descriptor, (void)flags;
    return -ENOTSUP;
#endif
}

// MARK: Connections

int csluice_accept(int listening) {
#ifdef __linux__
    RESULT(csluice_above_standard_streams(accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)));
#else
    int connection = accept(listening, NULL, NULL);
    if (connection < 0) return -errno;
    fcntl(connection, F_SETFD, FD_CLOEXEC);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    return connection;
#endif
}

// MARK: Change notification

#ifdef __linux__
_Static_assert(csluice_changed_modified == IN_MODIFY && csluice_changed_attributes == IN_ATTRIB, "inotify(7)");
_Static_assert(csluice_changed_closed_after_writing == IN_CLOSE_WRITE, "inotify(7)");
_Static_assert(csluice_changed_moved_from == IN_MOVED_FROM && csluice_changed_moved_to == IN_MOVED_TO, "inotify(7)");
_Static_assert(csluice_changed_created == IN_CREATE && csluice_changed_removed == IN_DELETE, "inotify(7)");
_Static_assert(csluice_changed_removed_itself == IN_DELETE_SELF, "inotify(7)");
_Static_assert(csluice_changed_moved_itself == IN_MOVE_SELF, "inotify(7)");
_Static_assert(csluice_changed_unmounted == IN_UNMOUNT && csluice_changed_overflow == IN_Q_OVERFLOW, "inotify(7)");
_Static_assert(csluice_changed_ignored == IN_IGNORED && csluice_changed_is_directory == IN_ISDIR, "inotify(7)");
_Static_assert(csluice_changed_not_following == IN_DONT_FOLLOW, "inotify(7)");
_Static_assert(csluice_changed_not_unlinked == IN_EXCL_UNLINK, "inotify(7)");
_Static_assert(sizeof(struct inotify_event) == 16, "inotify(7)");

int csluice_watch_make(void) { RESULT(csluice_above_standard_streams(inotify_init1(IN_NONBLOCK | IN_CLOEXEC))); }
int csluice_watch_add(int queue, const char *path, uint32_t mask) { RESULT(inotify_add_watch(queue, path, mask)); }

#else

int csluice_watch_make(void) { return -ENOSYS; }

int csluice_watch_add(int queue, const char *path, uint32_t mask) {
    (void)queue, (void)path, (void)mask;
    return -ENOSYS;
}

#endif
