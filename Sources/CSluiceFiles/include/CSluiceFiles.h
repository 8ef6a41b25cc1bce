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

// MARK: - Random access, mapped memory, preallocation

// Positions
ssize_t csluice_pread(int descriptor, void *into, size_t count, int64_t offset);
ssize_t csluice_pwrite(int descriptor, const void *from, size_t count, int64_t offset);
int64_t csluice_lseek(int descriptor, int64_t offset, int whence);

// Space
/// fallocate(2), without glibc's fallback that writes zeros; F_PREALLOCATE on Apple platforms.
int csluice_preallocate(int descriptor, int64_t offset, int64_t count, bool keeping_size);
/// FALLOC_FL_PUNCH_HOLE; F_PUNCHHOLE on Apple platforms, where offset and count must be multiples of the block size.
int csluice_punch_hole(int descriptor, int64_t offset, int64_t count);

/// The intended use of the bytes of a file or of memory.
enum csluice_advice {
    csluice_advice_normal,
    csluice_advice_sequential,
    csluice_advice_random,
    csluice_advice_needed,
    csluice_advice_not_needed,
};

/// posix_fadvise(2); on Apple platforms F_RDADVISE and F_RDAHEAD, and no effect otherwise. A count of 0 means up to the end.
int csluice_advise_file(int descriptor, int64_t offset, int64_t count, enum csluice_advice advice);

// Mapped memory
/// Maps the first `count` bytes of a file, for reading or, if `is_changeable`, also for writing: mmap(2) with MAP_PRIVATE.
int csluice_map(int descriptor, size_t count, bool is_changeable, void **address);
int csluice_unmap(void *address, size_t count);
/// madvise(2) for the pages that contain a range.
int csluice_advise_memory(void *address, size_t count, enum csluice_advice advice);
/// MADV_POPULATE_READ for the pages that contain a range. -EFAULT where an access would raise SIGBUS; -ENOSYS outside Linux.
int csluice_populate(void *address, size_t count);
/// Reads a byte of each page of a range.
int csluice_touch(const void *address, size_t count);

// Memory for large reads
/// Reserves `count` bytes of address space, a multiple of the page size, aligned for huge pages and advised to use them. Returns NULL
/// if there is none. Memory is allocated when it is written to.
void *csluice_memory_reserve(size_t count);
/// Moves the first `count` bytes, without a copy if the system can, and releases their old memory.
void csluice_memory_move(void *from, size_t count, void *into);
void csluice_memory_release(void *memory, size_t count);
/// Lets the kernel take the pages until they are written to again. Returns minus an error number if it can't, as outside Linux.
int csluice_memory_idle(void *memory, size_t count);

// MARK: - Status, times, modes, owners, links, extended attributes

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
/// An ID of all ones leaves that user or group unchanged.
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

// MARK: - Copying within the kernel

/// Makes the destination share all blocks of the source: ioctl_ficlone(2). -ENOSYS on platforms that can't clone descriptors.
int csluice_clone(int source, int destination);
/// Copies between the positions of two descriptors and advances both: copy_file_range(2). -ENOSYS on platforms without it.
ssize_t csluice_copy_range(int source, int destination, size_t count);
/// Returns the next offset of data, at or after this one: lseek(2) with SEEK_DATA. -ENXIO if only a hole follows.
int64_t csluice_next_data(int descriptor, int64_t offset);
/// Returns the next offset of a hole, at or after this one. The end of the file counts as a hole.
int64_t csluice_next_hole(int descriptor, int64_t offset);

// MARK: - Directories and names relative to them

/// Receives a name other than "." and "..". `mode` holds only the bits of the kind; 0 if the directory doesn't report it.
typedef void (*csluice_entry_function)(void *context, const char *name, size_t length, uint32_t mode);

/// Calls `each` for the next entries of the directory, as many as one system call returns: getdents64(2); getattrlistbulk(2) on
/// Apple platforms. Returns their number, 0 at the end.
int csluice_read_entries(int directory, csluice_entry_function each, void *context);

/// The access mode of open(2) for a directory that is only searched, which needs no permission to read it: O_PATH on Linux, O_SEARCH on
/// Apple platforms.
extern const int csluice_open_to_search;

int csluice_renameat(int from_directory, const char *from, int to_directory, const char *to);
/// renameat2(2) with RENAME_NOREPLACE; renameatx_np(2) on Apple platforms; -ENOSYS elsewhere.
int csluice_renameat_noreplace(int from_directory, const char *from, int to_directory, const char *to);
int csluice_linkat(int from_directory, const char *from, int to_directory, const char *to);
int csluice_mkdirat(int directory, const char *name, mode_t mode);
int csluice_symlinkat(const char *target, int directory, const char *name);
ssize_t csluice_readlinkat(int directory, const char *name, char *into, size_t capacity);
/// -ENOSYS on Apple platforms.
int csluice_mkfifoat(int directory, const char *name, mode_t mode);

// MARK: - Change notification

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

// MARK: - Waiting for descriptors

/// The events that a descriptor is armed for or is ready for.
enum csluice_readiness {
    csluice_readable = 1,
    csluice_writable = 2,
    /// The other side has hung up. Reported without being requested.
    csluice_hung_up = 4,
    /// The descriptor failed, or it's the writing end of a pipe without a reader. Reported without being requested.
    csluice_failed = 8,
    /// The number isn't open. Only from poll(2).
    csluice_not_open = 16,
    /// Requests every event instead of one.
    csluice_repeatedly = 32,
};

struct csluice_event {
    uint64_t token;
    uint32_t readiness;
    int descriptor;
};

// Waiting for many descriptors: epoll(7). -ENOSYS where it is missing.
int csluice_epoll_create(void);
/// Adds a registration, or with `again` arms it again. It gives one event (EPOLLONESHOT) unless csluice_repeatedly is set.
int csluice_epoll_set(int queue, int descriptor, uint32_t readiness, uint64_t token, int again);
int csluice_epoll_remove(int queue, int descriptor);
int csluice_epoll_wait(int queue, struct csluice_event *events, int count, int milliseconds);

// Waiting for many descriptors: poll(2). Entries with a negative descriptor are ignored.
/// Sets `readiness` of each entry, and returns how many are ready.
int csluice_poll_many(struct csluice_event *entries, int count, int milliseconds);

// Waking a waiting thread: eventfd(2), where both ends are one descriptor, or a pipe where it is missing.
int csluice_wakeup_open(int ends[2]);
int csluice_wakeup_signal(int writing);
int csluice_wakeup_clear(int reading);

// Reading and writing without waiting.
enum csluice_manner {
    /// read(2), write(2) on a descriptor that is non-blocking, or that poll(2) has reported as ready.
    csluice_manner_plain = 0,
    /// recv(2), send(2) with MSG_DONTWAIT.
    csluice_manner_socket = 1,
    /// preadv2(2), pwritev2(2) with RWF_NOWAIT: for pipes and sockets of Linux, but not for its FIFOs or terminals.
    csluice_manner_no_wait = 2,
};
ssize_t csluice_read_now(int descriptor, void *into, size_t count, int manner);
/// Raises no SIGPIPE, on any thread.
ssize_t csluice_write_now(int descriptor, const void *from, size_t count, int manner);

/// Accepts a connection of a non-blocking listening socket. The connection is non-blocking, and child processes don't inherit it.
int csluice_accept(int listening);

/// Returns the kind (S_IFMT) of a descriptor's file, without asking a file server.
int csluice_kind(int descriptor);
/// Returns the current bits of csluice_readiness. Doesn't wait.
int csluice_readiness_now(int descriptor);
/// Returns 1 if this device can be waited for and used without blocking, otherwise 0.
int csluice_can_be_waited_for(int descriptor);
/// Returns or sets the flags of the open file, such as O_NONBLOCK. See fcntl(2).
int csluice_get_flags(int descriptor);
int csluice_set_flags(int descriptor, int flags);
/// Opens the file of a FIFO's or terminal's descriptor a second time, with separate flags. -ENOTSUP if that isn't possible.
int csluice_reopen(int descriptor, int flags);

// MARK: - Calls that never wait for a device

/// Opens a file for reading if its path is in memory: openat2(2) with RESOLVE_CACHED (Linux 5.12). Doesn't follow a symbolic link at
/// the end. -EAGAIN if a device must be read, -ENOSYS if the kernel has no such call.
///
/// Uses O_NONBLOCK, so that opening a FIFO doesn't wait for its writer.
int csluice_open_cached(const char *path);

/// Reads bytes that are in memory: preadv2(2) with RWF_NOWAIT. If `offset` is -1, reads at the descriptor's position and advances it.
/// -EAGAIN if a device must be read, -EOPNOTSUPP if the file system has no such reads, -ENOSYS if the kernel has no such call. Also
/// -ENOSYS on kernels before 5.11, which report the end of the file where the bytes in memory end.
ssize_t csluice_read_cached(int descriptor, void *into, size_t count, int64_t offset);

/// Returns 1 if opening and closing files of this file system never waits for another machine or process, otherwise 0 or an error.
int csluice_is_local(int descriptor);
