#pragma once

// Random access, mapped memory, preallocation.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Positions
ssize_t csluice_pread(int descriptor, void *into, size_t count, int64_t offset);
ssize_t csluice_pwrite(int descriptor, const void *from, size_t count, int64_t offset);
int64_t csluice_lseek(int descriptor, int64_t offset, int whence);

// Space
/// fallocate(2), without glibc's fallback that writes zeros; F_PREALLOCATE on Apple platforms.
int csluice_preallocate(int descriptor, int64_t offset, int64_t count, bool keeping_size);
/// FALLOC_FL_PUNCH_HOLE; F_PUNCHHOLE on Apple platforms, where offset and count must be multiples of the block size.
int csluice_punch_hole(int descriptor, int64_t offset, int64_t count);

/// The intended use of the bytes of a file or of memory.
enum csluice_advice {
    csluice_advice_normal,
    csluice_advice_sequential,
    csluice_advice_random,
    csluice_advice_needed,
    csluice_advice_not_needed,
};

/// posix_fadvise(2); on Apple platforms F_RDADVISE and F_RDAHEAD, and no effect otherwise. A count of 0 means up to the end.
int csluice_advise_file(int descriptor, int64_t offset, int64_t count, enum csluice_advice advice);

// Mapped memory
/// Maps the first `count` bytes of a file, for reading or, if `is_changeable`, also for writing: mmap(2) with MAP_PRIVATE.
int csluice_map(int descriptor, size_t count, bool is_changeable, void **address);
int csluice_unmap(void *address, size_t count);
/// madvise(2) for the pages that contain a range.
int csluice_advise_memory(void *address, size_t count, enum csluice_advice advice);
/// MADV_POPULATE_READ for the pages that contain a range. -EFAULT where an access would raise SIGBUS; -ENOSYS outside Linux.
int csluice_populate(void *address, size_t count);
/// Reads a byte of each page of a range.
int csluice_touch(const void *address, size_t count);

// Memory for large reads
/// Reserves `count` bytes of address space, a multiple of the page size, aligned for huge pages and advised to use them. Returns NULL
/// if there is none. Memory is allocated when it is written to.
void *csluice_memory_reserve(size_t count);
/// Moves the first `count` bytes, without a copy if the system can, and releases their old memory.
void csluice_memory_move(void *from, size_t count, void *into);
void csluice_memory_release(void *memory, size_t count);
