#pragma once

// Change notification. Every function returns 0 or more, or minus the error number.

#include <stdint.h>

/// The bits of inotify(7), defined here so that Swift has them on every platform.
enum {
    csluice_changed_modified = 0x2,
    csluice_changed_attributes = 0x4,
    csluice_changed_closed_after_writing = 0x8,
    csluice_changed_moved_from = 0x40,
    csluice_changed_moved_to = 0x80,
    csluice_changed_created = 0x100,
    csluice_changed_removed = 0x200,
    csluice_changed_removed_itself = 0x400,
    csluice_changed_moved_itself = 0x800,
    csluice_changed_unmounted = 0x2000,
    csluice_changed_overflow = 0x4000,
    csluice_changed_ignored = 0x8000,
    csluice_changed_not_following = 0x2000000,
    csluice_changed_not_unlinked = 0x4000000,
    csluice_changed_is_directory = 0x40000000,
};

/// Opens a descriptor that doesn't block: inotify_init1(2). -ENOSYS on platforms without it.
int csluice_watch_make(void);
/// inotify_add_watch(2).
int csluice_watch_add(int queue, const char *path, uint32_t mask);
