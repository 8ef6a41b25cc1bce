// Runs a command and writes what it used to a file: ChildUsage FILE COMMAND ARGUMENTS...
//
// A program of its own, because the peak memory of a child is counted from the memory of the process that starts it
// (getrusage(2): the maximum is kept over execve(2)), and a benchmark's process is large.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static double seconds(struct timeval time) {
    return time.tv_sec + time.tv_usec / 1e6;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: ChildUsage FILE COMMAND ARGUMENTS...\n");
        return 2;
    }
    FILE *report = fopen(arguments[1], "we");
    if (!report) {
        fprintf(stderr, "%s: %s\n", arguments[1], strerror(errno));
        return 2;
    }
    double began = now();
    pid_t child = fork();
    if (child == 0) {
        execvp(arguments[2], arguments + 2);
        fprintf(stderr, "%s: %s\n", arguments[2], strerror(errno));
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        fprintf(stderr, "%s: %s\n", arguments[2], strerror(errno));
        return 2;
    }
    double took = now() - began;
#ifdef __APPLE__
    double peak = usage.ru_maxrss;
#else
    double peak = usage.ru_maxrss * 1024.0;
#endif
    fprintf(report, "%.9f %.6f %.0f\n", took, seconds(usage.ru_utime) + seconds(usage.ru_stime), peak);
    fclose(report);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
