#pragma once

// Copies within the kernel.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Makes the destination share all blocks of the source: ioctl_ficlone(2). -ENOSYS on platforms that can't clone descriptors.
int csluice_clone(int source, int destination);
/// Copies between the positions of two descriptors and advances both: copy_file_range(2). -ENOSYS on platforms without it.
ssize_t csluice_copy_range(int source, int destination, size_t count);
/// Returns the next offset of data, at or after this one: lseek(2) with SEEK_DATA. -ENXIO if only a hole follows.
int64_t csluice_next_data(int descriptor, int64_t offset);
/// Returns the next offset of a hole, at or after this one. The end of the file counts as a hole.
int64_t csluice_next_hole(int descriptor, int64_t offset);
