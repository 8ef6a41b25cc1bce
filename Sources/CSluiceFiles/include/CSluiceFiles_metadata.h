#pragma once

// Status, times, modes, owners, links, extended attributes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// A time since 1970. The nanoseconds are added to the seconds, even if these are negative.
struct csluice_time {
    int64_t seconds;
    int64_t nanoseconds;
};

/// The result of statx(2) (stat(2) on Apple platforms), with the same field names and widths on every platform.
struct csluice_status {
    uint64_t device;
    uint64_t inode;
    uint32_t mode;
    uint32_t links;
    uint32_t user;
    uint32_t group;
    int64_t size;
    int64_t allocated;
    struct csluice_time accessed;
    struct csluice_time modified;
    struct csluice_time changed;
    struct csluice_time created;
    /// Whether the file system reports when the file was created.
    bool has_created;
};

int csluice_fstat(int descriptor, struct csluice_status *status);
int csluice_stat(const char *path, struct csluice_status *status);
int csluice_lstat(const char *path, struct csluice_status *status);
/// Returns the status of a name relative to an open directory.
int csluice_status_at(int directory, const char *name, bool following_links, struct csluice_status *status);

/// utimensat(2), futimens(2). A null time isn't changed.
int csluice_set_times(
    int directory, const char *name, const struct csluice_time *modified, const struct csluice_time *accessed,
    bool following_links);
int csluice_fset_times(int descriptor, const struct csluice_time *modified, const struct csluice_time *accessed);
int csluice_chmod(const char *path, mode_t mode);
/// fchmodat(2). Fails with EOPNOTSUPP for a symbolic link, which has no mode, and where the system can't set the mode without following.
int csluice_fchmodat(int directory, const char *name, mode_t mode);
/// A number of all ones doesn't change that owner.
int csluice_chown(int directory, const char *name, uint32_t user, uint32_t group, bool following_links);
int csluice_fchown(int descriptor, uint32_t user, uint32_t group);
uint32_t csluice_effective_user(void);

// Links
int csluice_symlink(const char *target, const char *path);
/// linkat(2). Unlike link(2), it says whether a symbolic link is followed; POSIX leaves that open for link(2).
int csluice_link_as(const char *source, const char *destination, bool following_links);
ssize_t csluice_readlink(const char *path, char *into, size_t capacity);
/// realpath(3). Returns the length of the path, or -ERANGE if it needs more than `capacity` bytes.
ssize_t csluice_realpath(const char *path, char *into, size_t capacity);

// Extended attributes
//
// The attributes of `path`, or of `descriptor` if `path` is null. A missing attribute is ENODATA on every platform.
ssize_t csluice_xattr_list(int descriptor, const char *path, bool following_links, char *into, size_t capacity);
ssize_t csluice_xattr_get(
    int descriptor, const char *path, bool following_links, const char *name, void *into, size_t capacity);
int csluice_xattr_set(
    int descriptor, const char *path, bool following_links, const char *name, const void *from, size_t count,
    int flags);
int csluice_xattr_remove(int descriptor, const char *path, bool following_links, const char *name);
/// Flags of csluice_xattr_set: fail with EEXIST if the attribute exists, or with ENODATA if it doesn't.
extern const int csluice_xattr_create;
extern const int csluice_xattr_replace;
