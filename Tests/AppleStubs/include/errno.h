#pragma once

extern int *__error(void);
#define errno (*__error())
#define EPERM 1
#define ENOENT 2
#define EIO 5
#define EINTR 4
#define ENOMEM 12
#define EEXIST 17
#define EINVAL 22
#define ENOTTY 25
#define EPIPE 32
#define ERANGE 34
#define EAGAIN 35
#define ENOTSUP 45
#define ENOSYS 78
#define ENOATTR 93
#define ENODATA 96
#define EOPNOTSUPP 102
