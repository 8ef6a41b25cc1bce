#include "internal.h"

#ifdef __linux__
#include <sys/ioctl.h>
#include <sys/syscall.h>
// From <linux/fs.h>, which isn't installed everywhere.
#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif
#endif

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
    // By number: glibc has the function since 2.27, musl since 1.1.24; Linux has the call since 4.5.
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
