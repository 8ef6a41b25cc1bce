#include "internal.h"

#include <stdio.h>
#include <sys/xattr.h>

#ifdef __linux__
#include <stdatomic.h>
#include <sys/sysmacros.h>
#endif

// MARK: Status

#ifdef __APPLE__
#define TIME_OF(status, which) ((struct csluice_time){(status)->st_##which##timespec.tv_sec, (status)->st_##which##timespec.tv_nsec})
#else
#define TIME_OF(status, which) ((struct csluice_time){(status)->st_##which##tim.tv_sec, (status)->st_##which##tim.tv_nsec})
#endif

// A damaged file system or a broken server may report a size that is out of range.
#define SIZE_OF(size) ((uint64_t)(size) > INT64_MAX ? INT64_MAX : (int64_t)(size))
// A block is 512 bytes here, regardless of the file system's block size.
#define SIZE_OF_BLOCKS(blocks) ((uint64_t)(blocks) > INT64_MAX / 512 ? INT64_MAX : (int64_t)(blocks) * 512)

static void copy_status(const struct stat *from, struct csluice_status *into) {
    *into = (struct csluice_status){
        .device = (uint64_t)from->st_dev,
        .inode = (uint64_t)from->st_ino,
        .mode = (uint32_t)from->st_mode,
        .links = (uint64_t)from->st_nlink > UINT32_MAX ? UINT32_MAX : (uint32_t)from->st_nlink,
        .user = (uint32_t)from->st_uid,
        .group = (uint32_t)from->st_gid,
        .size = (int64_t)from->st_size,
        .allocated = SIZE_OF_BLOCKS(from->st_blocks),
        .accessed = TIME_OF(from, a),
        .modified = TIME_OF(from, m),
        .changed = TIME_OF(from, c),
#ifdef __APPLE__
        .created = TIME_OF(from, birth),
        .has_created = true,
#endif
    };
}

#ifdef STATX_BTIME
static struct csluice_time time_of(struct statx_timestamp from) { return (struct csluice_time){from.tv_sec, from.tv_nsec}; }

static void copy_statx(const struct statx *from, struct csluice_status *into) {
    *into = (struct csluice_status){
        .device = (uint64_t)makedev(from->stx_dev_major, from->stx_dev_minor),
        .inode = from->stx_ino,
        .mode = from->stx_mode,
        .links = from->stx_nlink,
        .user = from->stx_uid,
        .group = from->stx_gid,
        .size = SIZE_OF(from->stx_size),
        .allocated = SIZE_OF_BLOCKS(from->stx_blocks),
        .accessed = time_of(from->stx_atime),
        .modified = time_of(from->stx_mtime),
        .changed = time_of(from->stx_ctime),
        .created = time_of(from->stx_btime),
        .has_created = (from->stx_mask & STATX_BTIME) != 0,
    };
}

/// Whether statx isn't available. Kernels before 4.11 lack it, and old container runtimes deny it with EPERM, which stat calls never
/// return for a file.
static atomic_bool has_no_statx;
#endif

/// Takes the flags of fstatat. An empty name with AT_EMPTY_PATH means the descriptor itself.
static int status(int directory, const char *name, int flags, struct csluice_status *into) {
#ifdef STATX_BTIME
    if (!atomic_load_explicit(&has_no_statx, memory_order_relaxed)) {
        struct statx found;
        // AT_NO_AUTOMOUNT: like stat(2), this doesn't mount file systems on demand.
        if (statx(directory, name, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &found) == 0) {
            copy_statx(&found, into);
            return 0;
        }
        if (errno != ENOSYS && errno != EPERM) return -errno;
    }
#endif
    struct stat found;
    int result = name[0] ? fstatat(directory, name, &found, flags) : fstat(directory, &found);
    if (result < 0) return -errno;
#ifdef STATX_BTIME
    // fstatat worked for the same file, so statx itself is missing or denied.
    atomic_store_explicit(&has_no_statx, true, memory_order_relaxed);
#endif
    copy_status(&found, into);
    return 0;
}

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0
#endif

int csluice_fstat(int descriptor, struct csluice_status *into) { return status(descriptor, "", AT_EMPTY_PATH, into); }

int csluice_status_at(int directory, const char *name, bool following_links, struct csluice_status *into) {
    // As in csluice_fstat, an empty name would mean the directory itself.
    if (!name[0]) return -ENOENT;
    return status(directory, name, following_links ? 0 : AT_SYMLINK_NOFOLLOW, into);
}

int csluice_stat(const char *path, struct csluice_status *into) { return csluice_status_at(AT_FDCWD, path, true, into); }
int csluice_lstat(const char *path, struct csluice_status *into) { return csluice_status_at(AT_FDCWD, path, false, into); }

// MARK: Times, modes, owners

static void copy_time(const struct csluice_time *from, struct timespec *into) {
    *into = from ? (struct timespec){.tv_sec = (time_t)from->seconds, .tv_nsec = (long)from->nanoseconds}
                 : (struct timespec){.tv_nsec = UTIME_OMIT};
}

int csluice_set_times(
    int directory, const char *name, const struct csluice_time *modified, const struct csluice_time *accessed,
    bool following_links) {
    struct timespec times[2];
    copy_time(accessed, &times[0]);
    copy_time(modified, &times[1]);
    RESULT(utimensat(directory, name, times, following_links ? 0 : AT_SYMLINK_NOFOLLOW));
}

int csluice_fset_times(int descriptor, const struct csluice_time *modified, const struct csluice_time *accessed) {
    struct timespec times[2];
    copy_time(accessed, &times[0]);
    copy_time(modified, &times[1]);
    RESULT(futimens(descriptor, times));
}

int csluice_chmod(const char *path, mode_t mode) { RESULT(chmod(path, mode)); }

int csluice_chown(int directory, const char *name, uint32_t user, uint32_t group, bool following_links) {
    RESULT(fchownat(directory, name, (uid_t)user, (gid_t)group, following_links ? 0 : AT_SYMLINK_NOFOLLOW));
}

int csluice_fchmodat(int directory, const char *name, mode_t mode) {
    RESULT(fchmodat(directory, name, mode, AT_SYMLINK_NOFOLLOW));
}

uint32_t csluice_effective_user(void) { return geteuid(); }

int csluice_fchown(int descriptor, uint32_t user, uint32_t group) {
    RESULT(fchown(descriptor, (uid_t)user, (gid_t)group));
}

// MARK: Links

int csluice_symlink(const char *target, const char *path) { RESULT(symlink(target, path)); }

int csluice_link_as(const char *source, const char *destination, bool following_links) {
    RESULT(linkat(AT_FDCWD, source, AT_FDCWD, destination, following_links ? AT_SYMLINK_FOLLOW : 0));
}

ssize_t csluice_readlink(const char *path, char *into, size_t capacity) { RESULT(readlink(path, into, capacity)); }

ssize_t csluice_realpath(const char *path, char *into, size_t capacity) {
    // Not into the caller's buffer: realpath writes up to PATH_MAX bytes.
    char *found = realpath(path, NULL);
    if (!found) return -errno;
    size_t count = strlen(found);
    ssize_t result = -ERANGE;
    if (count <= capacity) {
        memcpy(into, found, count);
        result = (ssize_t)count;
    }
    free(found);
    return result;
}

// MARK: Extended attributes

const int csluice_xattr_create = XATTR_CREATE;
const int csluice_xattr_replace = XATTR_REPLACE;

#ifdef __APPLE__
static int error_number(void) { return errno == ENOATTR ? ENODATA : errno; }
#define XATTR_RESULT(call) __typeof__(call) result = (call); return result < 0 ? -error_number() : result
#define FOLLOWING(following_links) ((following_links) ? 0 : XATTR_NOFOLLOW)
#else
#define XATTR_RESULT(call) RESULT(call)
#endif

ssize_t csluice_xattr_list(int descriptor, const char *path, bool following_links, char *into, size_t capacity) {
#ifdef __APPLE__
    XATTR_RESULT(path ? listxattr(path, into, capacity, FOLLOWING(following_links))
                      : flistxattr(descriptor, into, capacity, 0));
#else
    XATTR_RESULT(!path             ? flistxattr(descriptor, into, capacity)
                 : following_links ? listxattr(path, into, capacity)
                                   : llistxattr(path, into, capacity));
#endif
}

ssize_t csluice_xattr_get(
    int descriptor, const char *path, bool following_links, const char *name, void *into, size_t capacity) {
#ifdef __APPLE__
    XATTR_RESULT(path ? getxattr(path, name, into, capacity, 0, FOLLOWING(following_links))
                      : fgetxattr(descriptor, name, into, capacity, 0, 0));
#else
    XATTR_RESULT(!path             ? fgetxattr(descriptor, name, into, capacity)
                 : following_links ? getxattr(path, name, into, capacity)
                                   : lgetxattr(path, name, into, capacity));
#endif
}

int csluice_xattr_set(
    int descriptor, const char *path, bool following_links, const char *name, const void *from, size_t count,
    int flags) {
#ifdef __APPLE__
    XATTR_RESULT(path ? setxattr(path, name, from, count, 0, flags | FOLLOWING(following_links))
                      : fsetxattr(descriptor, name, from, count, 0, flags));
#else
    XATTR_RESULT(!path             ? fsetxattr(descriptor, name, from, count, flags)
                 : following_links ? setxattr(path, name, from, count, flags)
                                   : lsetxattr(path, name, from, count, flags));
#endif
}

int csluice_xattr_remove(int descriptor, const char *path, bool following_links, const char *name) {
#ifdef __APPLE__
    XATTR_RESULT(path ? removexattr(path, name, FOLLOWING(following_links)) : fremovexattr(descriptor, name, 0));
#else
    XATTR_RESULT(!path             ? fremovexattr(descriptor, name)
                 : following_links ? removexattr(path, name)
                                   : lremovexattr(path, name));
#endif
}
