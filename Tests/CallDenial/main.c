// Runs a program to which the kernel denies some system calls, as the sandbox of a container may.
//
//     CallDenial EPERM io_uring_setup,preadv2,statx program argument ...
//
// Children of the program are denied them too. See seccomp(2).

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

static const struct {
    const char *name;
    int number;
} known[] = {
    {"io_uring_setup", SYS_io_uring_setup},
    {"preadv2", SYS_preadv2},
    {"pwritev2", SYS_pwritev2},
    {"copy_file_range", SYS_copy_file_range},
    {"sendfile", SYS_sendfile},
    {"renameat2", SYS_renameat2},
    {"statx", SYS_statx},
    {"openat2", SYS_openat2},
    {"inotify_init1", SYS_inotify_init1},
    {"epoll_create1", SYS_epoll_create1},
    {"eventfd2", SYS_eventfd2},
    {"fallocate", SYS_fallocate},
    {"close_range", SYS_close_range},
};

static int number_of(const char *name) {
    for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
        if (strcmp(known[index].name, name) == 0) return known[index].number;
    }
    return -1;
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: CallDenial EPERM|ENOSYS call,call program argument ...\n");
        return 2;
    }
    int error = strcmp(arguments[1], "ENOSYS") == 0 ? ENOSYS : EPERM;

    // Load the number; for each denied one, skip to the last instruction but one.
    struct sock_filter code[64];
    unsigned short length = 0;
    int numbers[48], denied = 0;
    for (char *name = strtok(arguments[2], ","); name; name = strtok(NULL, ",")) {
        int number = number_of(name);
        if (number < 0 || denied == 48) {
            fprintf(stderr, "CallDenial: no such call: %s\n", name);
            return 2;
        }
        numbers[denied++] = number;
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int index = 0; index < denied; index++) {
        code[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[index], (unsigned char)(denied - index), 0);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    struct sock_fprog program = {.len = length, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("CallDenial: seccomp");
        return 3;
    }
    execv(arguments[3], arguments + 3);
    perror(arguments[3]);
    return 2;
}
#else
int main(void) {
    fprintf(stderr, "CallDenial: only Linux has seccomp\n");
    return 3;
}
#endif
