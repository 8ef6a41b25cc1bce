#pragma once

// Copies within the kernel.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Makes the destination share all blocks of the source: ioctl_ficlone(2). -ENOSYS where descriptors cannot do that.
int csluice_clone(int source, int destination);
/// copy_file_range(2) from and to the offsets of the descriptors, which move on. -ENOSYS where there is none.
ssize_t csluice_copy_range(int source, int destination, size_t count);
/// The next offset of data, at or after this: lseek(2) with SEEK_DATA. -ENXIO: only a hole follows.
int64_t csluice_next_data(int descriptor, int64_t offset);
/// The next offset of a hole, at or after this; the end counts as one.
int64_t csluice_next_hole(int descriptor, int64_t offset);
