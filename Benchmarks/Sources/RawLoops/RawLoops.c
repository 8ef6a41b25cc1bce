#define _GNU_SOURCE
#include "RawLoops.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t raw_read_whole(const char *path) {
    const size_t huge = 2 << 20;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    struct stat status;
    if (fstat(descriptor, &status) < 0) return -1;
    size_t capacity = (size_t)status.st_size + 1;
    unsigned char *memory;
    if (capacity >= 2 * huge) {
        capacity = (capacity + huge - 1) / huge * huge;
        memory = aligned_alloc(huge, capacity);
#ifdef MADV_HUGEPAGE
        if (memory) madvise(memory, capacity, MADV_HUGEPAGE);
#endif
    } else {
        memory = malloc(capacity);
    }
    if (!memory) return -1;
    size_t count = 0;
    while (count < capacity) {
        ssize_t result = read(descriptor, memory + count, capacity - count);
        if (result < 0) return -1;
        if (result == 0) break;
        count += (size_t)result;
    }
    close(descriptor);
    int64_t summary = (int64_t)count * 256 + (count > 0 ? memory[count - 1] : 0);
    free(memory);
    return summary;
}
