#pragma once

#include <stdint.h>

/// Reads a whole file into memory as fast as the system calls allow: open, fstat, one block of memory (aligned to 2 MiB, in
/// huge pages where it is large), read until nothing comes, close. Frees the memory.
///
/// Returns the length times 256 plus the last byte, or -1.
int64_t raw_read_whole(const char *path);
