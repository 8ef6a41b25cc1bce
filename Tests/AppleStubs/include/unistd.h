#pragma once

#include <since.h>
#include <sys/types.h>

#define STDERR_FILENO 2
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define SEEK_HOLE 3
#define SEEK_DATA 4
#define _SC_PAGESIZE 29

int close(int);
int fchown(int, uid_t, gid_t);
int fchownat(int, const char *, uid_t, gid_t, int) SINCE(10.10, 8.0, 9.0, 2.0);
int fsync(int);
int ftruncate(int, off_t);
uid_t geteuid(void);
int gethostname(char *, size_t);
int isatty(int);
int link(const char *, const char *);
int linkat(int, const char *, int, const char *, int) SINCE(10.10, 8.0, 9.0, 2.0);
off_t lseek(int, off_t, int);
int pipe(int[2]);
ssize_t pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t);
ssize_t read(int, void *, size_t);
ssize_t readlink(const char *, char *, size_t);
ssize_t readlinkat(int, const char *, char *, size_t) SINCE(10.10, 8.0, 9.0, 2.0);
int rmdir(const char *);
int symlink(const char *, const char *);
int symlinkat(const char *, int, const char *) SINCE(10.10, 8.0, 9.0, 2.0);
long sysconf(int);
int unlink(const char *);
int unlinkat(int, const char *, int) SINCE(10.10, 8.0, 9.0, 2.0);
ssize_t write(int, const void *, size_t);
int getattrlistbulk(int, void *, void *, size_t, uint64_t) SINCE(10.10, 8.0, 9.0, 2.0);
