#include "internal.h"

// Change notification.

#ifdef __linux__

#include <sys/inotify.h>

_Static_assert(csluice_changed_modified == IN_MODIFY && csluice_changed_attributes == IN_ATTRIB, "inotify(7)");
_Static_assert(csluice_changed_closed_after_writing == IN_CLOSE_WRITE, "inotify(7)");
_Static_assert(csluice_changed_moved_from == IN_MOVED_FROM && csluice_changed_moved_to == IN_MOVED_TO, "inotify(7)");
_Static_assert(csluice_changed_created == IN_CREATE && csluice_changed_removed == IN_DELETE, "inotify(7)");
_Static_assert(csluice_changed_removed_itself == IN_DELETE_SELF, "inotify(7)");
_Static_assert(csluice_changed_moved_itself == IN_MOVE_SELF, "inotify(7)");
_Static_assert(csluice_changed_unmounted == IN_UNMOUNT && csluice_changed_overflow == IN_Q_OVERFLOW, "inotify(7)");
_Static_assert(csluice_changed_ignored == IN_IGNORED && csluice_changed_is_directory == IN_ISDIR, "inotify(7)");
_Static_assert(csluice_changed_not_following == IN_DONT_FOLLOW, "inotify(7)");
_Static_assert(csluice_changed_not_unlinked == IN_EXCL_UNLINK, "inotify(7)");
_Static_assert(sizeof(struct inotify_event) == 16, "inotify(7)");

int csluice_watch_make(void) { RESULT(csluice_above_standard_streams(inotify_init1(IN_NONBLOCK | IN_CLOEXEC))); }
int csluice_watch_add(int queue, const char *path, uint32_t mask) { RESULT(inotify_add_watch(queue, path, mask)); }

#else

int csluice_watch_make(void) { return -ENOSYS; }

int csluice_watch_add(int queue, const char *path, uint32_t mask) {
    (void)queue, (void)path, (void)mask;
    return -ENOSYS;
}

#endif
