// The wall clock of a process, shifted by a number that another process writes. The program's `clock_gettime` takes precedence over the C
// library's, also for calls from libraries (ld.so(8)). Other clocks aren't shifted: a step of the time of day doesn't change them either.
#define _GNU_SOURCE
#include "ClockShift.h"

#if defined(__linux__)
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *_Atomic shift;

static int64_t seconds(void) {
    const _Atomic int64_t *mapped = shift;
    return mapped ? atomic_load(mapped) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*_Atomic next)(clockid_t, struct timespec *);
    int (*function)(clockid_t, struct timespec *) = next;
    if (!function) next = function = dlsym(RTLD_NEXT, "clock_gettime");
    int result = function ? function(clock, time) : (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += seconds();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int clock_shift_follow(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return -1;
    shift = mapped;
    return 0;
}
#else
int clock_shift_follow(const char *path) {
    (void)path;
    return -1;
}
#endif
