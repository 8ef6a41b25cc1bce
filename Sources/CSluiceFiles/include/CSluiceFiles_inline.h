#pragma once

// Calls that never wait for a device.

/// Opens a file for reading if its path is in memory: openat2(2) with RESOLVE_CACHED (Linux 5.12). Doesn't follow a symbolic link at
/// the end. -EAGAIN if a device must be read, -ENOSYS if the kernel has no such call.
///
/// Uses O_NONBLOCK, so that opening a FIFO doesn't wait for its writer.
int csluice_open_cached(const char *path);

/// Reads bytes that are in memory: preadv2(2) with RWF_NOWAIT. If `offset` is -1, reads at the descriptor's position and advances it.
/// -EAGAIN if a device must be read, -EOPNOTSUPP if the file system has no such reads, -ENOSYS if the kernel has no such call. Also
/// -ENOSYS on kernels before 5.11, which report the end of the file where the bytes in memory end.
ssize_t csluice_read_cached(int descriptor, void *into, size_t count, int64_t offset);

/// Returns 1 if opening and closing files of this file system never waits for another machine or process, otherwise 0 or an error.
int csluice_is_local(int descriptor);
