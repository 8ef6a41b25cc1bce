#pragma once

#include <since.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct __sFILE FILE;

#define RENAME_EXCL 0x00000004

int rename(const char *, const char *);
int renameat(int, const char *, int, const char *) SINCE(10.10, 8.0, 9.0, 2.0);
int renamex_np(const char *, const char *, unsigned int) SINCE(10.12, 10.0, 10.0, 3.0);
int renameatx_np(int, const char *, int, const char *, unsigned int) SINCE(10.12, 10.0, 10.0, 3.0);
int snprintf(char *, size_t, const char *, ...) __attribute__((format(printf, 3, 4)));
