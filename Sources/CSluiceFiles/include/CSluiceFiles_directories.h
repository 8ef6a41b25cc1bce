#pragma once

// Directories and names relative to them. Every function returns 0 or more, or minus the error number.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
