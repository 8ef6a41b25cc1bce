#pragma once

#include <sys/types.h>

#define AF_INET 2
#define MSG_DONTWAIT 0x80
#define SOCK_STREAM 1

typedef uint32_t socklen_t;
typedef uint8_t sa_family_t;

struct sockaddr {
    uint8_t sa_len;
    sa_family_t sa_family;
    char sa_data[14];
};

int accept(int, struct sockaddr *, socklen_t *);
ssize_t recv(int, void *, size_t, int);
ssize_t send(int, const void *, size_t, int);
int socket(int, int, int);
