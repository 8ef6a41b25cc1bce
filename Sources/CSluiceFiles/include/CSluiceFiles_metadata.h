#pragma once

// Status, times, modes, owners, links, extended attributes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Since 1970. The nanoseconds are counted upwards, also before that.
struct csluice_time {
    int64_t seconds;
    int64_t nanoseconds;
};

/// What statx(2) tells (stat(2) on Apple platforms), with the same field names and widths on every platform.
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
    /// Whether the file system knows when the file was created.
    bool has_created;
};

int csluice_fstat(int descriptor, struct csluice_status *status);
int csluice_stat(const char *path, struct csluice_status *status);
int csluice_lstat(const char *path, struct csluice_status *status);
/// Of a name in an open folder, or below it.
int csluice_status_at(int folder, const char *name, bool following_links, struct csluice_status *status);
