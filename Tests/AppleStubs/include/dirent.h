#pragma once

#include <since.h>
#include <sys/types.h>

#define DT_UNKNOWN 0
#define DT_DIR 4

struct dirent {
    uint64_t d_ino;
    uint64_t d_seekoff;
    uint16_t d_reclen;
    uint16_t d_namlen;
    uint8_t d_type;
    char d_name[1024];
};

typedef struct _dirdesc DIR;

int closedir(DIR *);
DIR *fdopendir(int) SINCE(10.10, 8.0, 9.0, 2.0);
struct dirent *readdir(DIR *);
void rewinddir(DIR *);
