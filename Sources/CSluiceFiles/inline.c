#include "internal.h"

#ifdef __linux__
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

// struct open_how of <linux/openat2.h>, which older header packages lack.
struct csluice_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
#define CSLUICE_RESOLVE_CACHED 0x20

int csluice_open_cached(const char *path) {
    struct csluice_open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY,
        .resolve = CSLUICE_RESOLVE_CACHED,
    };
    RESULT((int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

static int kernel_reads_cached;

__attribute__((constructor)) static void find_kernel(void) {
    struct utsname system;
    int major = 0, minor = 0;
    if (uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2) {
        kernel_reads_cached = major > 5 || (major == 5 && minor >= 11);
    }
}

ssize_t csluice_read_cached(int descriptor, void *into, size_t count, int64_t offset) {
    if (!kernel_reads_cached) return -ENOSYS;
    struct iovec piece = {.iov_base = into, .iov_len = count};
    RESULT(preadv2(descriptor, &piece, 1, offset, RWF_NOWAIT));
}

int csluice_is_local(int descriptor) {
    struct statfs found;
    if (fstatfs(descriptor, &found) < 0) return -errno;
    switch ((unsigned long)found.f_type & 0xFFFFFFFFUL) {
    case 0x0000EF53UL:  // ext2, ext3, ext4
    case 0x58465342UL:  // XFS
    case 0x9123683EUL:  // Btrfs
    case 0xF2F52010UL:  // F2FS
    case 0x01021994UL:  // tmpfs
        return 1;
    default:
        return 0;
    }
}
#else
int csluice_open_cached(const char *path) { return -ENOSYS; }
ssize_t csluice_read_cached(int descriptor, void *into, size_t count, int64_t offset) { return -ENOSYS; }
#ifdef __APPLE__
#include <sys/param.h>
#include <sys/mount.h>

int csluice_is_local(int descriptor) {
    struct statfs found;
    if (fstatfs(descriptor, &found) < 0) return -errno;
    return (found.f_flags & MNT_LOCAL) != 0;
}
#else
int csluice_is_local(int descriptor) { return 0; }
#endif
#endif
