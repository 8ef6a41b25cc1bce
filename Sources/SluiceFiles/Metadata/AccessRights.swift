internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The access rights of a file: its owner, its group, its mode and its access control list.
///
/// A file that replaces another one inherits its rights. Where that isn't possible, no user gets more access than before:
///
/// ```text
/// 4755 alice:staff, replaced by bob                755 bob:users     no set-ID bits with another owner or group
///  640 alice:staff, replaced by bob                600 bob:users     the group's bits were meant for another group
///  640 with "user:carol:r", but no lists here      600               those bits are the list's mask; the group's own entry counts
/// ```
///
/// See chown(2), chmod(2), acl(5).
struct AccessRights: Sendable, Equatable {
    var user: UInt32
    var group: UInt32
    /// The mode. If there is a list, the group's bits are its mask.
    var mode: UInt32
    /// The list as the system stores it, or `nil`.
    var list: [UInt8]?

    init(_ status: RawStatus, list: [UInt8]?) {
        user = status.user
        group = status.group
        mode = status.permissions
        self.list = list
    }

    /// The rights that a file with this owner and group may have.
    func kept(user: UInt32, group: UInt32) -> AccessRights {
        if user == self.user, group == self.group { return self }
        var kept = withoutList()
        (kept.user, kept.group) = (user, group)
        var (owner, members, others) = (mode >> 6 & 7, kept.mode >> 3 & 7, kept.mode & 7)
        // The former owner now counts as a group member or as one of the others.
        if user == self.user { owner = 7 }
        (members, others) = (members & owner, others & owner)
        // Members of the former group are now among the others, and some of the others are members of the new one.
        if group != self.group { (members, others) = (members & others, members & others) }
        kept.mode = mode & 0o1700 | members << 3 | others
        return kept
    }

    /// The rights of a file without the list: at most what every user and group on the list may do.
    func withoutList() -> AccessRights {
        guard let list else { return self }
        var narrow = self
        narrow.list = nil
        let entries = Self.entries(of: list)
        let mask = entries.first { $0.tag == .mask }?.bits ?? 7
        var members = (entries.first { $0.tag == .group }?.bits ?? 0) & mask
        var others = entries.first { $0.tag == .others }?.bits ?? 0
        for entry in entries where entry.tag == .namedUser || entry.tag == .namedGroup {
            (members, others) = (members & entry.bits & mask, others & entry.bits & mask)
        }
        narrow.mode = mode & ~0o77 | (mode & (members << 3 | others))
        return narrow
    }

    /// The kinds of entries in a list. The numbers are the ones that Linux uses.
    private enum Tag: UInt16 {
        case owner = 1
        case namedUser = 2
        case group = 4
        case namedGroup = 8
        case mask = 16
        case others = 32
    }

    /// Reads a list in the format of the attribute `system.posix_acl_access`: a version, and then 8 bytes for each entry. An unknown
    /// format has no entries, so it grants nothing.
    private static func entries(of list: [UInt8]) -> [(tag: Tag, bits: UInt32)] {
        guard list.count % 8 == 4, list.starts(with: [2, 0, 0, 0]) else { return [] }
        return stride(from: 4, to: list.count, by: 8).compactMap { offset in
            let tag = Tag(rawValue: UInt16(list[offset]) | UInt16(list[offset + 1]) << 8)
            return tag.map { ($0, UInt32(list[offset + 2]) & 7) }
        }
    }
}

// MARK: - The rights of files

extension SystemInterface {
    func rights(ofDescriptor descriptor: CInt, _ path: String) throws(FileError) -> AccessRights {
        let status = try status(ofDescriptor: descriptor, path)
        return AccessRights(status, list: try accessList(of: .descriptor(descriptor), path))
    }

    /// Returns the rights of the regular file with this name, or `nil` if there is none. `known` is its status from before.
    func rights(of path: String, known: RawStatus) throws(FileError) -> AccessRights? {
        var last: RawStatus? = known
        for _ in 0..<4 {
            guard let before = last, before.isRegularFile else { return nil }
            let name = Array(path.utf8CString)
            let list = try name.withUnsafeBufferPointer { (name) throws(FileError) in
                try accessList(of: .path(name.baseAddress!, followsLinks: false), path)
            }
            last = try status(of: path, followsLinks: false)
            guard let after = last, after.isRegularFile else { return nil }
            // The status and the list take two calls. The change time tells whether they belong together.
            if after.isSameFile(as: before), after.changed == before.changed { return AccessRights(after, list: list) }
        }
        return last.map { status in
            var rights = AccessRights(status, list: nil)
            rights.mode &= 0o700
            return rights
        }
    }

    /// Returns the rights that a new file in a directory gets, from the umask or from the directory's default list. Finds out by creating
    /// an empty file, because the umask can't be read without changing it for all threads. Returns `nil` if the file system has no room for
    /// another file, even an empty one.
    ///
    /// - Parameter temporary: The path of the empty file, in the directory, or `nil` for a new name. If a process is killed and leaves it
    ///   there, the next process removes it.
    func rightsOfNewFile(
        in directory: String, permissions: UInt32, temporary: String? = nil
    ) throws(FileError) -> AccessRights? {
        let probe: RawFile
        do throws(FileError) {
            probe =
                if let temporary {
                    try createLocked(temporary, permissions: permissions, for: "create temporary file")
                } else {
                    try createTemporary(in: directory, permissions: permissions)
                }
        } catch  where error.code == .noSpace || error.code == .quotaExceeded {
            return nil
        }
        defer {
            unlinkQuietly(probe.path)
            closeQuietly(probe.descriptor, isLocked: probe.isLocked)
        }
        return try rights(ofDescriptor: probe.descriptor, probe.path)
    }

    /// Gives rights to an open file, as far as the system permits. At no point does a user have access that they lack both before and
    /// afterwards.
    ///
    /// ```text
    /// 1 mode    only the owner's bits
    /// 2 owner   clears the set-ID bits; so it comes before the mode
    /// 3 list    changes the group's bits of the mode
    /// 4 mode
    /// ```
    ///
    /// `known` is the file's current rights, if the caller has read them.
    func give(
        _ rights: AccessRights, to descriptor: CInt, instead known: AccessRights? = nil, _ path: String
    ) throws(FileError) {
        var now = if let known { known } else { try self.rights(ofDescriptor: descriptor, path) }
        if now == rights { return }
        if now.mode & 0o7077 != 0 {
            let narrowed = retrying { calls.changeMode(descriptor, now.mode & 0o700) }
            if !Self.isWithoutModes(narrowed) { try check(narrowed, "set the mode of", path) }
            if narrowed >= 0 { now.mode &= 0o700 }
        }
        if now.user != rights.user || now.group != rights.group {
            try giveOwner(rights, instead: now, to: descriptor, path)
            now = AccessRights(try status(ofDescriptor: descriptor, path), list: now.list)
        }
        var wanted = rights.kept(user: now.user, group: now.group)
        let hadList = now.list != nil
        if let list = wanted.list, !(try setAccessList(list, of: descriptor, path)) { wanted = wanted.withoutList() }
        if wanted.list == nil, hadList { try removeAccessList(of: descriptor, path) }
        if wanted.list != nil || hadList { now.mode = try status(ofDescriptor: descriptor, path).permissions }
        // Only if it differs: FAT and SMB have one mode for all files and refuse to set it.
        if now.mode == wanted.mode { return }
        try check(retrying { calls.changeMode(descriptor, wanted.mode) }, "set the mode of", path)
    }

    /// Sets the owner and the group, or the group alone: only root may give a file away.
    private func giveOwner(
        _ rights: AccessRights, instead now: AccessRights, to descriptor: CInt, _ path: String
    ) throws(FileError) {
        let (user, group) = (
            now.user == rights.user ? nil : rights.user, now.group == rights.group ? nil : rights.group
        )
        var result = retrying { calls.metadata.changeOwnerOfDescriptor(descriptor, user, group) }
        if Self.isRefusal(-result), user != nil, group != nil {
            result = retrying { calls.metadata.changeOwnerOfDescriptor(descriptor, nil, group) }
        }
        if !Self.isRefusal(-result) { try check(result, "set the owner of", path) }
    }

    static func isWithoutModes(_ result: CInt) -> Bool { [-EPERM, -EOPNOTSUPP, -ENOTSUP].contains(result) }

    // MARK: Lists

    #if os(Linux)
    static let accessListName: [CChar] = "system.posix_acl_access".utf8.map { CChar(bitPattern: $0) } + [0]

    /// Returns the access control list, or `nil` if the file has none or its file system doesn't support them.
    func accessList(of target: MetadataCalls.Target, _ path: String) throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            return try attribute(Self.accessListName, of: target, path)
        } catch  where [EOPNOTSUPP, ENOTSUP, ENOSYS, EINVAL].contains(error.systemError) {
            return nil
        }
    }

    /// Returns false if the file system refuses the list.
    private func setAccessList(_ list: [UInt8], of descriptor: CInt, _ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            try setAttribute(Self.accessListName, of: .descriptor(descriptor), to: list, .createOrReplace, path)
            return true
        } catch  where Self.isRefusal(error.systemError) {
            return false
        }
    }

    private func removeAccessList(of descriptor: CInt, _ path: String) throws(FileError) {
        do throws(FileError) {
            try removeAttribute(Self.accessListName, of: .descriptor(descriptor), path)
        } catch  where error.systemError == ENODATA {
            return
        }
    }
    #else
    // On Apple platforms, lists aren't extended attributes. A new file inherits one only from its directory, and a mode doesn't widen it.
    func accessList(of target: MetadataCalls.Target, _ path: String) throws(FileError) -> [UInt8]? { nil }
    private func setAccessList(_ list: [UInt8], of descriptor: CInt, _ path: String) throws(FileError) -> Bool { false }
    private func removeAccessList(of descriptor: CInt, _ path: String) throws(FileError) {}
    #endif
}
