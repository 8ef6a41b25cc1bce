// Starts a child process, and measures or stops it:
//
//     ChildUsage FILE COMMAND ARGUMENTS...      runs a command and writes its time and peak memory to the file
//     ChildUsage --serve COMMAND ARGUMENTS...   runs a server until the standard input ends, then stops it
//
// This is a separate program for three reasons. The peak memory of a child includes the memory of the process that starts it (getrusage(2):
// the maximum survives execve(2)), and a benchmark's process is large. The threads of a benchmark block signals, and children inherit that:
// a server that blocks SIGTERM never ends. And a server must not outlive a benchmark that is killed: the standard input of this program
// ends with the benchmark.

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

// The limits for a measured command and for a server that stops, in seconds.
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

// Returns the exit code as a shell reports it.
static int code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Resets blocked and ignored signals, because both are inherited across fork(2) and execve(2).
static void take_all_signals(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void execute(char **command) {
#ifdef __linux__
    // The child must end if this process is killed.
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
        // Ends a command that hangs. An alarm survives execve(2).
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
    // SIGCHLD is blocked except in pselect(2), so that the end of the child always interrupts it.
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

    // The input becomes readable only when it ends, because no process writes to it. The child's process ID stays valid until waitpid(2).
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
