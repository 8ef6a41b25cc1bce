#pragma once

// Calls that never wait for a device.

/// Opens a file for reading if the way to it is in memory, itself and not what a link at its end points to: openat2(2) with
/// RESOLVE_CACHED (Linux 5.12). -EAGAIN where that would take a device, -ENOSYS where there is no such call.
///
/// With O_NONBLOCK, so that a FIFO under this name waits for nobody.
int csluice_open_cached(const char *path);

/// Reads what is in memory: preadv2(2) with RWF_NOWAIT; at the descriptor's position, which moves, where `offset` is -1.
/// -EAGAIN where it would take a device, -EOPNOTSUPP where the file system does not offer it, -ENOSYS where there is no such
/// call. Kernels before 5.11 are told -ENOSYS too: they report an end of the file where memory ends.
ssize_t csluice_read_cached(int descriptor, void *into, size_t count, int64_t offset);

/// Whether opening and closing files of this file system never waits for another machine or process: 1, 0, or an error.
int csluice_is_local(int descriptor);
