#include "internal.h"

#include <limits.h>
#include <sys/mman.h>

// Random access, mapped memory, preallocation.

// MARK: Positions

ssize_t csluice_pread(int descriptor, void *into, size_t count, int64_t offset) {
    RESULT(pread(descriptor, into, count, (off_t)offset));
}

ssize_t csluice_pwrite(int descriptor, const void *from, size_t count, int64_t offset) {
    RESULT(pwrite(descriptor, from, count, (off_t)offset));
}

int64_t csluice_lseek(int descriptor, int64_t offset, int whence) { RESULT(lseek(descriptor, (off_t)offset, whence)); }

// MARK: Space

int csluice_preallocate(int descriptor, int64_t offset, int64_t count, bool keeping_size) {
#if defined(__linux__)
    // FALLOC_FL_KEEP_SIZE is 1 on every architecture.
    RESULT(fallocate(descriptor, keeping_size ? 1 : 0, (off_t)offset, (off_t)count));
#elif defined(__APPLE__)
    struct stat found;
    if (fstat(descriptor, &found) < 0) return -errno;
    int64_t end = offset + count, allocated = (int64_t)found.st_blocks * 512;
    if (end > allocated) {
        fstore_t store = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = end - allocated};
        if (fcntl(descriptor, F_PREALLOCATE, &store) < 0) return -errno;
    }
    if (keeping_size || found.st_size >= end) return 0;
    RESULT(ftruncate(descriptor, (off_t)end));
#else
    return -ENOSYS;
#endif
}

int csluice_punch_hole(int descriptor, int64_t offset, int64_t count) {
#if defined(__linux__)
    // The kernel requires FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE.
    RESULT(fallocate(descriptor, 2 | 1, (off_t)offset, (off_t)count));
#elif defined(F_PUNCHHOLE)
    struct fpunchhole hole = {.fp_offset = offset, .fp_length = count};
    RESULT(fcntl(descriptor, F_PUNCHHOLE, &hole));
#else
    return -ENOSYS;
#endif
}

// MARK: Advice

int csluice_advise_file(int descriptor, int64_t offset, int64_t count, enum csluice_advice advice) {
#ifdef __APPLE__
    switch (advice) {
    case csluice_advice_needed: {
        struct radvisory range = {.ra_offset = offset, .ra_count = count > 0 && count < INT_MAX ? (int)count : INT_MAX};
        RESULT(fcntl(descriptor, F_RDADVISE, &range));
    }
    case csluice_advice_random: { RESULT(fcntl(descriptor, F_RDAHEAD, 0)); }
    case csluice_advice_normal:
    case csluice_advice_sequential: { RESULT(fcntl(descriptor, F_RDAHEAD, 1)); }
    default: return 0;
    }
#else
    static const int numbers[] = {
        [csluice_advice_normal] = POSIX_FADV_NORMAL,       [csluice_advice_sequential] = POSIX_FADV_SEQUENTIAL,
        [csluice_advice_random] = POSIX_FADV_RANDOM,       [csluice_advice_needed] = POSIX_FADV_WILLNEED,
        [csluice_advice_not_needed] = POSIX_FADV_DONTNEED,
    };
    // posix_fadvise returns the error number and doesn't set errno.
    return -posix_fadvise(descriptor, (off_t)offset, (off_t)count, numbers[advice]);
#endif
}

// MARK: Mapped memory

int csluice_map(int descriptor, size_t count, bool is_changeable, void **address) {
    int protection = is_changeable ? PROT_READ | PROT_WRITE : PROT_READ;
    int flags = MAP_PRIVATE;
#ifdef MAP_NORESERVE
    // Few pages are ever changed, so no memory is reserved for changes.
    flags |= MAP_NORESERVE;
#endif
    void *mapped = mmap(NULL, count, protection, flags, descriptor, 0);
    if (mapped == MAP_FAILED) return -errno;
    *address = mapped;
    return 0;
}

int csluice_unmap(void *address, size_t count) { RESULT(munmap(address, count)); }

/// Extends the range to the start of its first page, which madvise(2) requires. madvise completes the last page itself.
static int advise_pages(void *address, size_t count, int advice) {
    size_t before = (uintptr_t)address % (size_t)sysconf(_SC_PAGESIZE);
    RESULT(madvise((char *)address - before, count + before, advice));
}

int csluice_advise_memory(void *address, size_t count, enum csluice_advice advice) {
    static const int numbers[] = {
        [csluice_advice_normal] = MADV_NORMAL,       [csluice_advice_sequential] = MADV_SEQUENTIAL,
        [csluice_advice_random] = MADV_RANDOM,       [csluice_advice_needed] = MADV_WILLNEED,
        [csluice_advice_not_needed] = MADV_DONTNEED,
    };
    return advise_pages(address, count, numbers[advice]);
}

int csluice_populate(void *address, size_t count) {
#ifdef __linux__
    // 22 is MADV_POPULATE_READ, since Linux 5.14. Older headers lack it, and older kernels return EINVAL.
    return advise_pages(address, count, 22);
#else
    return -ENOSYS;
#endif
}

int csluice_touch(const void *address, size_t count) {
    const volatile char *bytes = address;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t place = 0; place < count; place += page) (void)bytes[place];
    if (count) (void)bytes[count - 1];
    return 0;
}

// MARK: Memory for large reads

void *csluice_memory_reserve(size_t count) {
    const size_t huge = 2 << 20;
    if (count > SIZE_MAX - huge) return NULL;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    char *memory = mmap(NULL, count + huge, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    size_t before = (huge - (uintptr_t)memory % huge) % huge;
    if (before) munmap(memory, before);
    if (before < huge) munmap(memory + before + count, huge - before);
#ifdef MADV_HUGEPAGE
    // Ignored if it fails: kernels without huge pages use small ones.
    madvise(memory + before, count, MADV_HUGEPAGE);
#endif
    return memory + before;
}

void csluice_memory_move(void *from, size_t count, void *into) {
#ifdef MREMAP_FIXED
    if (mremap(from, count, count, MREMAP_MAYMOVE | MREMAP_FIXED, into) == into) return;
    // mremap may have unmapped the destination before it failed.
    if (mmap(into, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != into) abort();
#endif
    memcpy(into, from, count);
    munmap(from, count);
}

void csluice_memory_release(void *memory, size_t count) { munmap(memory, count); }

int csluice_memory_idle(void *memory, size_t count) {
#if defined(__linux__) && defined(MADV_FREE)
    return madvise(memory, count, MADV_FREE) ? -errno : 0;
#else
    (void)memory, (void)count;
    return -ENOSYS;
#endif
}
