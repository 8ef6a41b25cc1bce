#pragma once

#include <since.h>
#include <sys/types.h>
#include <time.h>

#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFCHR 0020000
#define S_IFDIR 0040000
#define S_IFBLK 0060000
#define S_IFREG 0100000
#define S_IFLNK 0120000
#define S_IFSOCK 0140000
#define UTIME_NOW -1
#define UTIME_OMIT -2

struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec;
    struct timespec st_mtimespec;
    struct timespec st_ctimespec;
    struct timespec st_birthtimespec;
    off_t st_size;
    blkcnt_t st_blocks;
    blksize_t st_blksize;
    uint32_t st_flags;
    uint32_t st_gen;
    int32_t st_lspare;
    int64_t st_qspare[2];
};

int chmod(const char *, mode_t);
int fchmod(int, mode_t);
int fchmodat(int, const char *, mode_t, int) SINCE(10.10, 8.0, 9.0, 2.0);
int fstat(int, struct stat *);
int fstatat(int, const char *, struct stat *, int) SINCE(10.10, 8.0, 9.0, 2.0);
int futimens(int, const struct timespec[2]) SINCE(10.13, 11.0, 11.0, 4.0);
int mkdir(const char *, mode_t);
int mkdirat(int, const char *, mode_t) SINCE(10.10, 8.0, 9.0, 2.0);
int mkfifoat(int, const char *, mode_t) SINCE(13.0, 16.0, 16.0, 9.0);
int utimensat(int, const char *, const struct timespec[2], int) SINCE(10.13, 11.0, 11.0, 4.0);
