#include "internal.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#ifdef __linux__
#include <sys/ioctl.h>
// From <linux/fs.h>, which isn't installed everywhere.
#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#endif

// MARK: Descriptors

int csluice_above_standard_streams(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    int other = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (other < 0) return descriptor;
    close(descriptor);
    return other;
}

int csluice_open(const char *path, int flags, mode_t mode) {
    RESULT(csluice_above_standard_streams(open(path, flags, mode)));
}
int csluice_openat(int directory, const char *name, int flags, mode_t mode) {
    RESULT(csluice_above_standard_streams(openat(directory, name, flags, mode)));
}
int csluice_close(int descriptor) { RESULT(close(descriptor)); }
ssize_t csluice_read(int descriptor, void *into, size_t count) { RESULT(read(descriptor, into, count)); }
ssize_t csluice_write(int descriptor, const void *from, size_t count) { RESULT(write(descriptor, from, count)); }
ssize_t csluice_writev(int descriptor, const struct iovec *pieces, int count) {
    RESULT(writev(descriptor, pieces, count));
}
int csluice_ftruncate(int descriptor, int64_t size) { RESULT(ftruncate(descriptor, (off_t)size)); }
int csluice_fchmod(int descriptor, mode_t mode) { RESULT(fchmod(descriptor, mode)); }
int csluice_flock(int descriptor, int operation) { RESULT(flock(descriptor, operation)); }

int csluice_poll(int descriptor, short events, int milliseconds) {
    struct pollfd entry = {.fd = descriptor, .events = events};
    RESULT(poll(&entry, 1, milliseconds));
}

// MARK: Durability

int csluice_fsync(int descriptor) { RESULT(fsync(descriptor)); }

int csluice_sync_data(int descriptor) {
#ifdef __APPLE__
    RESULT(fsync(descriptor));
#else
    RESULT(fdatasync(descriptor));
#endif
}

int csluice_sync_full(int descriptor) {
#ifdef __APPLE__
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
    // Some file systems, such as SMB, have no F_FULLFSYNC.
    if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY) return -errno;
#endif
    RESULT(fsync(descriptor));
}

// MARK: Paths

int csluice_rename(const char *source, const char *destination) { RESULT(rename(source, destination)); }

int csluice_rename_noreplace(const char *source, const char *destination) {
#if defined(__APPLE__)
    RESULT(renamex_np(source, destination, RENAME_EXCL));
#elif defined(SYS_renameat2)
    // By number: the function needs glibc 2.28 or a recent musl, the call only Linux 3.15.
    RESULT((int)syscall(SYS_renameat2, AT_FDCWD, source, AT_FDCWD, destination, RENAME_NOREPLACE));
#else
    (void)source;
    (void)destination;
    return -ENOSYS;
#endif
}

int csluice_link(const char *source, const char *destination) { RESULT(link(source, destination)); }
int csluice_unlink(const char *path) { RESULT(unlink(path)); }
int csluice_rmdir(const char *path) { RESULT(rmdir(path)); }
int csluice_mkdir(const char *path, mode_t mode) { RESULT(mkdir(path, mode)); }
int csluice_unlinkat(int directory, const char *name, int flags) { RESULT(unlinkat(directory, name, flags)); }

int csluice_list(int directory, int limit, void (*each)(void *context, const char *name, int kind), void *context) {
    int copy = fcntl(directory, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0) return -errno;
    DIR *stream = fdopendir(copy);
    if (!stream) {
        int error = errno;
        close(copy);
        return -error;
    }
    rewinddir(stream);
    int count = 0;
    int error = 0;
    while (count < limit) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (!entry) {
            error = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        int kind = entry->d_type == DT_UNKNOWN  ? csluice_kind_unknown
                   : entry->d_type == DT_DIR ? csluice_kind_directory
                                             : csluice_kind_other;
        each(context, entry->d_name, kind);
        count += 1;
    }
    closedir(stream);
    return error ? -error : count;
}

// MARK: Threads

struct start {
    void (*body)(void *context);
    void *context;
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    // The name that debuggers, perf and /proc show.
#ifdef __APPLE__
    pthread_setname_np("sluice-files");
#else
    pthread_setname_np(pthread_self(), "sluice-files");
#endif
    start.body(start.context);
    return NULL;
}

int csluice_thread_start(void (*body)(void *context), void *context, size_t stack) {
    struct start *start = malloc(sizeof *start);
    if (!start) return -ENOMEM;
    start->body = body;
    start->context = context;

    // The new thread inherits this thread's mask.
    sigset_t blocked, before;
    sigfillset(&blocked);
    int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++) sigdelset(&blocked, faults[index]);

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) {
        free(start);
        return -error;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread;
    error = pthread_create(&thread, &attributes, run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error) free(start);
    return -error;
}

// MARK: The machine

int csluice_host_name(char *into, size_t capacity) { return gethostname(into, capacity) == 0 ? 0 : -errno; }

// MARK: Errors

#if defined(__GLIBC__)
void csluice_error_text(int number, char *into, size_t capacity) {
    // With _GNU_SOURCE, strerror_r is the variant that returns the text.
    char buffer[256];
    snprintf(into, capacity, "%s", strerror_r(number, buffer, sizeof buffer));
}
#else
void csluice_error_text(int number, char *into, size_t capacity) {
    if (strerror_r(number, into, capacity) != 0) snprintf(into, capacity, "error %d", number);
}
#endif

// MARK: Copying

int csluice_clone(int source, int destination) {
#ifdef __linux__
    RESULT(ioctl(destination, FICLONE, source));
#else
    // Apple platforms clone paths (clonefile), not descriptors.
    (void)source;
    (void)destination;
    return -ENOSYS;
#endif
}

ssize_t csluice_copy_range(int source, int destination, size_t count) {
#if defined(__linux__) && defined(SYS_copy_file_range)
    // By number: the function needs glibc 2.27 or musl 1.1.24, the call only Linux 4.5.
    RESULT((ssize_t)syscall(SYS_copy_file_range, source, NULL, destination, NULL, count, 0));
#else
    (void)source;
    (void)destination;
    (void)count;
    return -ENOSYS;
#endif
}

int64_t csluice_next_data(int descriptor, int64_t offset) { RESULT((int64_t)lseek(descriptor, (off_t)offset, SEEK_DATA)); }
int64_t csluice_next_hole(int descriptor, int64_t offset) { RESULT((int64_t)lseek(descriptor, (off_t)offset, SEEK_HOLE)); }
