#pragma once

#include <sys/types.h>

#define MNT_LOCAL 0x00001000

struct statfs {
    uint32_t f_bsize;
    int32_t f_iosize;
    uint64_t f_blocks;
    uint64_t f_bfree;
    uint64_t f_bavail;
    uint64_t f_files;
    uint64_t f_ffree;
    struct { int32_t val[2]; } f_fsid;
    uid_t f_owner;
    uint32_t f_type;
    uint32_t f_flags;
};

int fstatfs(int, struct statfs *);
