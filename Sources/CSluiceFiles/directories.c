#include "internal.h"

// Directories and names relative to them.

#include <dirent.h>
#include <stdio.h>
#include <sys/syscall.h>

#ifdef __APPLE__
#include <sys/attr.h>
#include <sys/vnode.h>
#endif

#if defined(__linux__) && !defined(RENAME_NOREPLACE)
#define RENAME_NOREPLACE 1
#endif

#define IS_DOTS(name) ((name)[0] == '.' && ((name)[1] == 0 || ((name)[1] == '.' && (name)[2] == 0)))

#ifdef O_PATH
const int csluice_open_to_search = O_PATH;
#elif defined(O_SEARCH)
const int csluice_open_to_search = O_SEARCH;
#else
const int csluice_open_to_search = O_RDONLY;
#endif

// MARK: Entries

#ifdef __linux__

// Uses the kernel's records directly: glibc's readdir reads ahead into a buffer, so its position isn't the descriptor's.
struct record {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

int csluice_read_entries(int directory, csluice_entry_function each, void *context) {
    _Alignas(struct record) char buffer[32 << 10];
    int count = 0;
    // Repeats only if all entries were "." and "..".
    while (count == 0) {
        long filled = syscall(SYS_getdents64, directory, buffer, sizeof buffer);
        if (filled < 0) return -errno;
        if (filled == 0) return 0;
        for (long place = 0; place < filled;) {
            struct record *record = (struct record *)(buffer + place);
            size_t head = offsetof(struct record, name);
            if ((size_t)(filled - place) < head || record->length <= head || record->length > filled - place) return -EIO;
            size_t length = strnlen(record->name, record->length - head);
            place += record->length;
            if (length == record->length - head) return -EIO;
            if (IS_DOTS(record->name)) continue;
            each(context, record->name, length, (uint32_t)record->type << 12);
            count += 1;
        }
    }
    return count;
}

#elif defined(__APPLE__)

// Not with readdir, which reads ahead into a buffer, so its position isn't the descriptor's. See getattrlistbulk(2).
int csluice_read_entries(int directory, csluice_entry_function each, void *context) {
    struct attrlist wanted = {
        .bitmapcount = ATTR_BIT_MAP_COUNT,
        .commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME | ATTR_CMN_OBJTYPE,
    };
    _Alignas(8) char buffer[32 << 10];
    int count = getattrlistbulk(directory, &wanted, buffer, sizeof buffer, 0);
    if (count < 0) return -errno;
    char *record = buffer;
    for (int index = 0; index < count; index++) {
        uint32_t length;
        if (buffer + sizeof buffer - record < (ptrdiff_t)(sizeof length + sizeof(attribute_set_t))) return -EIO;
        memcpy(&length, record, sizeof length);
        if (length < sizeof length + sizeof(attribute_set_t) || length > buffer + sizeof buffer - record) return -EIO;
        char *field = record + sizeof length;
        attribute_set_t returned;
        memcpy(&returned, field, sizeof returned);
        field += sizeof returned;
        const char *name = "";
        if (returned.commonattr & ATTR_CMN_NAME) {
            attrreference_t reference;
            memcpy(&reference, field, sizeof reference);
            name = field + reference.attr_dataoffset;
            field += sizeof reference;
        }
        uint32_t mode = 0;
        if (returned.commonattr & ATTR_CMN_OBJTYPE) {
            fsobj_type_t type;
            memcpy(&type, field, sizeof type);
            switch (type) {
            case VREG: mode = S_IFREG; break;
            case VDIR: mode = S_IFDIR; break;
            case VLNK: mode = S_IFLNK; break;
            case VBLK: mode = S_IFBLK; break;
            case VCHR: mode = S_IFCHR; break;
            case VSOCK: mode = S_IFSOCK; break;
            case VFIFO: mode = S_IFIFO; break;
            default: break;
            }
        }
        if (*name) each(context, name, strlen(name), mode);
        record += length;
    }
    return count;
}

#else

int csluice_read_entries(int directory, csluice_entry_function each, void *context) {
    (void)directory, (void)each, (void)context;
    return -ENOSYS;
}

#endif

// MARK: Names relative to a directory

int csluice_renameat(int from_directory, const char *from, int to_directory, const char *to) {
    RESULT(renameat(from_directory, from, to_directory, to));
}

int csluice_renameat_noreplace(int from_directory, const char *from, int to_directory, const char *to) {
#if defined(__APPLE__)
    RESULT(renameatx_np(from_directory, from, to_directory, to, RENAME_EXCL));
#elif defined(SYS_renameat2)
    RESULT((int)syscall(SYS_renameat2, from_directory, from, to_directory, to, RENAME_NOREPLACE));
#else
    (void)from_directory, (void)from, (void)to_directory, (void)to;
    return -ENOSYS;
#endif
}

int csluice_linkat(int from_directory, const char *from, int to_directory, const char *to) {
    RESULT(linkat(from_directory, from, to_directory, to, 0));
}

int csluice_mkdirat(int directory, const char *name, mode_t mode) { RESULT(mkdirat(directory, name, mode)); }
int csluice_symlinkat(const char *target, int directory, const char *name) { RESULT(symlinkat(target, directory, name)); }

ssize_t csluice_readlinkat(int directory, const char *name, char *into, size_t capacity) {
    RESULT(readlinkat(directory, name, into, capacity));
}

int csluice_mkfifoat(int directory, const char *name, mode_t mode) {
#ifdef __APPLE__
    // mkfifoat(2) needs macOS 13.
    (void)directory, (void)name, (void)mode;
    return -ENOSYS;
#else
    RESULT(mkfifoat(directory, name, mode));
#endif
}
