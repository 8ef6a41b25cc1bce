// Starts a child and looks after it:
//
//     ChildUsage FILE COMMAND ARGUMENTS...      runs a command and writes what it used to the file
//     ChildUsage --serve COMMAND ARGUMENTS...   runs a server until our standard input ends, then stops it
//
// A program of its own for three reasons. The peak memory of a child is counted from the memory of the process that
// starts it (getrusage(2): the maximum is kept over execve(2)), and a benchmark's process is large. Its threads block
// signals, which children inherit: a server that blocks SIGTERM never ends. And a server must not outlive a benchmark
// that was killed; its standard input ends with it.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

// What a measured command and a server that was told to stop may take, in seconds.
enum { MOST_FOR_COMMAND = 300, MOST_FOR_STOPPING = 5 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static double seconds(struct timeval time) {
    return time.tv_sec + time.tv_usec / 1e6;
}

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return 2;
}

// As a shell tells it.
static int code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Blocks nothing and ignores nothing. Both are inherited over fork(2) and execve(2).
static void take_all_signals(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void execute(char **command) {
#ifdef __linux__
    // Should we be killed, it ends too.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    execvp(command[0], command);
    failed(command[0]);
    _exit(127);
}

static int measure(const char *path, char **command) {
    FILE *report = fopen(path, "we");
    if (!report) return failed(path);
    double began = now();
    pid_t child = fork();
    if (child == 0) {
        // Kept over execve(2): ends a command that hangs.
        alarm(MOST_FOR_COMMAND);
        execute(command);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) return failed(command[0]);
    double took = now() - began;
#ifdef __APPLE__
    double peak = usage.ru_maxrss;
#else
    double peak = usage.ru_maxrss * 1024.0;
#endif
    fprintf(report, "%.9f %.6f %.0f\n", took, seconds(usage.ru_utime) + seconds(usage.ru_stime), peak);
    if (fclose(report) != 0) return failed(path);
    return code(status);
}

static void interrupt(int number) {
    (void)number;
}

static int serve(char **command) {
    // Blocked except in pselect(2), so that a child that ends at any moment interrupts it.
    signal(SIGCHLD, interrupt);
    sigset_t child_ends, none;
    sigemptyset(&none);
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ends, NULL);

    pid_t child = fork();
    if (child < 0) return failed(command[0]);
    if (child == 0) {
        take_all_signals();
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0) _exit(failed("/dev/null"));
        execute(command);
    }

    // When the input can be read it has ended, for nobody writes to it. A child that is not yet waited for keeps its id.
    fd_set input;
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    int status;
    pid_t ended = 0;
    if (pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &none) < 0) ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) {
        kill(child, SIGTERM);
        struct timespec limit = {.tv_sec = MOST_FOR_STOPPING};
        pselect(0, NULL, NULL, NULL, &limit, &none);
        ended = waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
        fprintf(stderr, "%s did not stop within %d seconds and was killed\n", command[0], MOST_FOR_STOPPING);
        kill(child, SIGKILL);
        ended = waitpid(child, &status, 0);
    }
    return ended < 0 ? failed(command[0]) : code(status);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: ChildUsage FILE|--serve COMMAND ARGUMENTS...\n");
        return 2;
    }
    take_all_signals();
    return strcmp(arguments[1], "--serve") == 0 ? serve(arguments + 2) : measure(arguments[1], arguments + 2);
}
