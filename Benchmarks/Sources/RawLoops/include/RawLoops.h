#pragma once

#include <stdint.h>

/// Reads a whole file into memory as fast as the system calls allow: open, fstat, one allocation (aligned to 2 MiB, with huge pages if it
/// is large), read until the end, close. Frees the memory.
///
/// Returns the length times 256 plus the last byte, or -1.
int64_t raw_read_whole(const char *path);
