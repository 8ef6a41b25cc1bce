#include "internal.h"

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

static void copy_status(const struct stat *from, struct csluice_status *into) {
    *into = (struct csluice_status){
        .device = (uint64_t)from->st_dev,
        .inode = (uint64_t)from->st_ino,
        .mode = (uint32_t)from->st_mode,
        .links = (uint32_t)from->st_nlink,
        .user = (uint32_t)from->st_uid,
        .group = (uint32_t)from->st_gid,
        .size = (int64_t)from->st_size,
        // In units of 512 bytes whatever st_blksize says.
        .allocated = (int64_t)from->st_blocks * 512,
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
        .size = (int64_t)from->stx_size,
        .allocated = (int64_t)from->stx_blocks * 512,
        .accessed = time_of(from->stx_atime),
        .modified = time_of(from->stx_mtime),
        .changed = time_of(from->stx_ctime),
        .created = time_of(from->stx_btime),
        .has_created = (from->stx_mask & STATX_BTIME) != 0,
    };
}

/// Whether statx was refused: kernels before 4.11 have none, and old container runtimes deny it with EPERM, which none of
/// the stat calls says of a file.
static atomic_bool has_no_statx;
#endif

/// `flags` as of fstatat; an empty name with AT_EMPTY_PATH is the descriptor itself.
static int status(int folder, const char *name, int flags, struct csluice_status *into) {
#ifdef STATX_BTIME
    if (!atomic_load_explicit(&has_no_statx, memory_order_relaxed)) {
        struct statx found;
        // Like stat(2), it does not mount what is mounted on demand.
        if (statx(folder, name, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &found) == 0) {
            copy_statx(&found, into);
            return 0;
        }
        if (errno != ENOSYS && errno != EPERM) return -errno;
    }
#endif
    struct stat found;
    int result = name[0] ? fstatat(folder, name, &found, flags) : fstat(folder, &found);
    if (result < 0) return -errno;
#ifdef STATX_BTIME
    // It was not the file that was refused.
    atomic_store_explicit(&has_no_statx, true, memory_order_relaxed);
#endif
    copy_status(&found, into);
    return 0;
}

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0
#endif

int csluice_fstat(int descriptor, struct csluice_status *into) { return status(descriptor, "", AT_EMPTY_PATH, into); }

int csluice_status_at(int folder, const char *name, bool following_links, struct csluice_status *into) {
    // An empty name would be the folder itself, by the way that csluice_fstat takes.
    if (!name[0]) return -ENOENT;
    return status(folder, name, following_links ? 0 : AT_SYMLINK_NOFOLLOW, into);
}

int csluice_stat(const char *path, struct csluice_status *into) { return csluice_status_at(AT_FDCWD, path, true, into); }
int csluice_lstat(const char *path, struct csluice_status *into) { return csluice_status_at(AT_FDCWD, path, false, into); }
