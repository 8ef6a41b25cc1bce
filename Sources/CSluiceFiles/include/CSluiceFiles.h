#pragma once

// The system calls of SluiceFiles, one C function each.
//
// Every function returns the kernel's result, 0 or more, or *minus* the error number. So `errno` is read directly after the call
// that set it; Swift code in between (a retain, an allocation) may change it. Differences between Linux and Apple platforms are
// hidden here.
//
// The headers below are part of the interface: Swift sees ENOENT, O_CLOEXEC, pthread_cond_t ... through this module.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/// The kind of an entry as the directory reports it, without a stat.
enum csluice_kind {
    csluice_kind_unknown = 0,
    csluice_kind_directory = 1,
    csluice_kind_other = 2,
};

// Descriptors
int csluice_open(const char *path, int flags, mode_t mode);
int csluice_openat(int directory, const char *name, int flags, mode_t mode);
int csluice_close(int descriptor);
ssize_t csluice_read(int descriptor, void *into, size_t count);
ssize_t csluice_write(int descriptor, const void *from, size_t count);
ssize_t csluice_writev(int descriptor, const struct iovec *pieces, int count);
int csluice_poll(int descriptor, short events, int milliseconds);
int csluice_ftruncate(int descriptor, int64_t size);
int csluice_fchmod(int descriptor, mode_t mode);
int csluice_flock(int descriptor, int operation);

// Durability
int csluice_fsync(int descriptor);
/// Syncs the data and the metadata that is needed to read it: fdatasync(2); fsync(2) on Apple platforms.
int csluice_sync_data(int descriptor);
/// Syncs to the medium: fsync(2); F_FULLFSYNC on Apple platforms, where fsync stops at the drive's cache.
int csluice_sync_full(int descriptor);

// Paths
int csluice_rename(const char *source, const char *destination);
/// renameat2(2) with RENAME_NOREPLACE; renamex_np(2) with RENAME_EXCL on Apple platforms; -ENOSYS elsewhere.
int csluice_rename_noreplace(const char *source, const char *destination);
int csluice_link(const char *source, const char *destination);
int csluice_unlink(const char *path);
int csluice_rmdir(const char *path);
int csluice_mkdir(const char *path, mode_t mode);
int csluice_unlinkat(int directory, const char *name, int flags);
/// Calls `each` for at most `limit` entries of the directory, from its start, except "." and "..". Returns their number.
int csluice_list(int directory, int limit, void (*each)(void *context, const char *name, int kind), void *context);

// Threads
/// Starts a detached thread that blocks every signal except those of faults. A write to a closed pipe then returns EPIPE, and the
/// program's signal handlers run on its own threads.
int csluice_thread_start(void (*body)(void *context), void *context, size_t stack);

// The machine
/// Writes the machine's name. Returns 0, or minus the error number.
int csluice_host_name(char *into, size_t capacity);

// Errors
/// Writes the text of an error number. Thread-safe.
void csluice_error_text(int number, char *into, size_t capacity);

#include "CSluiceFiles_random_access.h"
#include "CSluiceFiles_metadata.h"
#include "CSluiceFiles_copying.h"
#include "CSluiceFiles_directories.h"
#include "CSluiceFiles_watching.h"
#include "CSluiceFiles_readiness.h"
#include "CSluiceFiles_inline.h"
