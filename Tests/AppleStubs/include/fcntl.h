#pragma once

#include <since.h>
#include <sys/types.h>

#define O_RDONLY 0x0000
#define O_NONBLOCK 0x00000004
#define O_NOFOLLOW 0x00000100
#define O_NOCTTY 0x00020000
#define O_CLOEXEC 0x01000000
#define O_SEARCH 0x40100000
#define AT_FDCWD -2
#define AT_SYMLINK_NOFOLLOW 0x0020
#define AT_SYMLINK_FOLLOW 0x0040
#define AT_REMOVEDIR 0x0080
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_PREALLOCATE 42
#define F_RDADVISE 44
#define F_RDAHEAD 45
#define F_FULLFSYNC 51
#define F_DUPFD_CLOEXEC 67
#define F_PUNCHHOLE 99
#define FD_CLOEXEC 1
#define F_ALLOCATECONTIG 0x00000002
#define F_ALLOCATEALL 0x00000004
#define F_PEOFPOSMODE 3

typedef struct fstore {
    unsigned int fst_flags;
    int fst_posmode;
    off_t fst_offset;
    off_t fst_length;
    off_t fst_bytesalloc;
} fstore_t;

typedef struct fpunchhole {
    unsigned int fp_flags;
    unsigned int reserved;
    off_t fp_offset;
    off_t fp_length;
} fpunchhole_t;

struct radvisory {
    off_t ra_offset;
    int ra_count;
};

int open(const char *, int, ...);
int openat(int, const char *, int, ...) SINCE(10.10, 8.0, 9.0, 2.0);
int fcntl(int, int, ...);
