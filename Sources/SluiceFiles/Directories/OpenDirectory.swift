internal import CSluiceFiles
internal import Synchronization

/// The descriptor of a directory, shared by its entries and closed once: on a lane, when the last reference is dropped.
final class OpenDirectory: Sendable {
    let io: FileIO
    let descriptor: CInt
    let path: DirectoryPath
    let status: RawStatus
    private let isClosed = Atomic(false)

    /// Takes ownership of the descriptor, even if it throws.
    init(_ descriptor: CInt, _ path: DirectoryPath, _ io: FileIO) throws(FileError) {
        let system = io.system
        var status = RawStatus()
        do {
            // The path is computed only for an error, because it is long in a deep tree.
            try system.check(
                system.calls.statusOfDescriptor(descriptor, &status), "read the status of", path.shown())
        } catch {
            system.closeQuietly(descriptor)
            throw error
        }
        self.status = status
        self.io = io
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        if isClosed.load(ordering: .relaxed) { return }
        // close(2) may block, and this may be a thread of the cooperative pool.
        io.runDetached { [system = io.system, descriptor] in system.closeQuietly(descriptor) }
    }

    /// Drops a reference. If it was the last one, closes the descriptor on this thread. Jobs call this to avoid a second job just for
    /// closing.
    static func release(_ directory: inout OpenDirectory?) {
        if isKnownUniquelyReferenced(&directory), let last = directory,
            !last.isClosed.exchange(true, ordering: .acquiringAndReleasing)
        {
            last.io.system.closeQuietly(last.descriptor)
        }
        directory = nil
    }

    static func open(
        _ path: String, _ io: FileIO, toSearch: Bool = false, for operation: String
    ) throws(FileError) -> OpenDirectory {
        let access = toSearch ? csluice_open_to_search : O_RDONLY
        let descriptor = try io.system.open(path, access | O_DIRECTORY, for: operation)
        return try OpenDirectory(descriptor, DirectoryPath(path: path), io)
    }
}

// MARK: - Path

/// The path of a directory below the one that the caller named, as a linked list of names. If each directory stored its whole path, memory
/// would grow with the square of the depth.
final class DirectoryPath: @unchecked Sendable {
    // Only `deinit` changes `above`, when the last reference is gone. The rest is immutable.
    private var above: DirectoryPath?
    private let name: DirectoryEntry.Name
    /// The path of the named directory.
    private let top: DirectoryEntry.Name

    /// The number of directories from the named one down to this one; 0 for the named directory.
    let depth: Int

    init(path: String) {
        name = DirectoryEntry.Name(path)
        top = name
        depth = 0
    }

    init(_ name: DirectoryEntry.Name, in above: DirectoryPath) {
        self.above = above
        self.name = name
        top = above.top
        depth = above.depth + 1
    }

    deinit {
        // A loop, because recursion over a chain of 20,000 directories would overflow the stack.
        var next = above.take()
        while isKnownUniquelyReferenced(&next) { next = next?.above.take() }
    }

    /// The last `count` names in the path of an entry of this directory, joined by slashes.
    func relativePath(of name: DirectoryEntry.Name, names count: Int) -> [UInt8] {
        var names = [name]
        var next: DirectoryPath? = self
        while names.count < count, let current = next {
            names.append(current.name)
            next = current.above
        }
        return Array(names.reversed().map(\.bytes).joined(separator: [0x2F]))
    }

    /// The names from the named directory (excluded) down to this one.
    var names: [DirectoryEntry.Name] {
        var names: [DirectoryEntry.Name] = []
        var current = self
        while let above = current.above {
            names.append(current.name)
            current = above
        }
        return names.reversed()
    }

    /// The bytes of this path, or of the path of an entry in the directory. With a limit, only the top and the lowest names.
    func bytes(of name: DirectoryEntry.Name? = nil, lowest count: Int = .max) -> [UInt8] {
        var names = name.map { [$0] } ?? []
        var next: DirectoryPath? = self
        while let current = next, names.count < count {
            names.append(current.name)
            next = current.above
        }
        if let left = next { names += left.depth == 0 ? [top] : ["…", top] }
        let isRoot = names.last?.bytes.last == 0x2F
        let bytes = names.reversed().map(\.bytes).joined(separator: [0x2F])
        return isRoot && names.count > 1 ? Array(bytes.dropFirst()) : Array(bytes)
    }

    /// The path for an error message. Bytes that aren't UTF-8 appear as U+FFFD.
    ///
    /// In a deep tree, the names in the middle are omitted. A tree copy prepares this path for each file and directory. With all names,
    /// its time would grow with the square of the depth.
    func shown(of name: DirectoryEntry.Name? = nil) -> String {
        String(decoding: bytes(of: name, lowest: Self.mostShown), as: UTF8.self)
    }

    private static var mostShown: Int { 64 }
}

// MARK: - System calls

// Operations relative to an open directory. Errors show the path that the directory was opened with, followed by the name.
extension SystemInterface {
    // MARK: Listing

    /// Appends the next entries. Returns false at the end. See getdents(2).
    func readEntries(of directory: OpenDirectory, into entries: inout [RawDirectoryEntry]) throws(FileError) -> Bool {
        let result = retrying { calls.directories.readEntries(directory.descriptor, &entries) }
        // Linux reports ENOENT for a directory that was removed while open. It has no entries.
        if result == -ENOENT { return false }
        try check(result, "list", directory.path.shown())
        return result > 0
    }

    /// Opens a directory inside another one. `toSearch` means that it won't be listed, so no read permission is needed.
    func openDirectory(
        _ name: DirectoryEntry.Name, in directory: OpenDirectory, followsLinks: Bool, toSearch: Bool = false
    ) throws(FileError) -> CInt {
        let access = toSearch ? csluice_open_to_search : O_RDONLY
        let flags = access | O_DIRECTORY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
        let result = name.withCString { name in retrying { calls.openAt(directory.descriptor, name, flags) } }
        try check(result, "open", directory.path.shown(of: name))
        openCount.add(1, ordering: .relaxed)
        return result
    }

    // MARK: Names

    func status(
        of name: DirectoryEntry.Name, in directory: OpenDirectory, followsLinks: Bool
    ) throws(FileError) -> RawStatus? {
        var status = RawStatus()
        let result = name.withCString { name in
            retrying { calls.directories.statusAt(directory.descriptor, name, followsLinks, &status) }
        }
        if result == -ENOENT || result == -ENOTDIR { return nil }
        try check(result, "read the status of", directory.path.shown(of: name))
        return status
    }

    /// Renames within a directory. Unless `existing` is `.replace`, an existing file is never replaced.
    func rename(_ entry: DirectoryEntry, to name: DirectoryEntry.Name, existing: ExistingFile) throws(FileError) {
        let directory = entry.directory.descriptor
        guard name.isSingle else {
            throw FileError(
                code: .invalidPath, operation: "give the name '\(name)' to", path: entry.shownPath,
                remedy: "Choose a name that isn't empty, '.' or '..', and has no slash and no zero byte.")
        }
        if existing == .replace, try areLinks(entry, name) {
            return try removeLink(entry, to: name)
        }
        let result = entry.rawName.withCString { from in
            name.withCString { to in
                switch existing {
                case .replace: retrying { calls.directories.renameAt(directory, from, directory, to) }
                case .fail, .skip: renameWithoutReplacing(from, to, in: directory)
                }
            }
        }
        try check(result, "give the name '\(name)' to", entry.shownPath)
    }

    /// See `rename(_:to:existing:)` for paths.
    private func areLinks(_ entry: DirectoryEntry, _ name: DirectoryEntry.Name) throws(FileError) -> Bool {
        guard entry.rawName != name,
            let old = try status(of: entry.rawName, in: entry.directory, followsLinks: false), old.links > 1,
            !old.isDirectory, let new = try status(of: name, in: entry.directory, followsLinks: false)
        else { return false }
        return new.isSameFile(as: old)
    }

    private func removeLink(_ entry: DirectoryEntry, to name: DirectoryEntry.Name) throws(FileError) {
        let directory = entry.directory.descriptor
        let aside = DirectoryEntry.Name(uniqueName(prefix: ".sluice-"))
        let result = aside.withCString { aside in
            let moved = entry.rawName.withCString { from in
                retrying { calls.directories.renameAt(directory, from, directory, aside) }
            }
            if moved < 0 { return moved }
            var replaced = name.withCString { to in
                retrying { calls.directories.renameAt(directory, aside, directory, to) }
            }
            if replaced == 0 { replaced = retrying { calls.unlinkAt(directory, aside, 0) } }
            if replaced == -ENOENT { return 0 }  // By then, `name` belonged to another file, which is replaced.
            if replaced < 0 {
                _ = entry.rawName.withCString { from in
                    retrying { calls.directories.renameAtWithoutReplacing(directory, aside, directory, from) }
                }
            }
            return replaced
        }
        try check(result, "give the name '\(name)' to", entry.shownPath)
    }

    private func renameWithoutReplacing(_ from: SystemCalls.Path, _ to: SystemCalls.Path, in directory: CInt) -> CInt {
        let calls = calls
        let result = retrying { calls.directories.renameAtWithoutReplacing(directory, from, directory, to) }
        guard
            RenameInSteps.isWanted(
                after: result,
                ofNoNames: {
                    "".withCString { calls.directories.renameAtWithoutReplacing(directory, $0, directory, $0) }
                })
        else { return result }
        return RenameInSteps(
            statusOfDirectory: { calls.statusOfDescriptor(directory, &$0) },
            statusOfFile: { calls.directories.statusAt(directory, from, false, &$0) },
            user: { calls.metadata.effectiveUser() },
            link: { calls.directories.linkAt(directory, from, directory, to) },
            unlink: { name in calls.unlinkAt(directory, name == .old ? from : to, 0) },
            createDirectory: { calls.directories.makeDirectoryAt(directory, to, 0o700) },
            rename: { calls.directories.renameAt(directory, from, directory, to) },
            removeDirectory: { calls.unlinkAt(directory, to, AT_REMOVEDIR) }
        ).run(on: self)
    }

    func remove(_ entry: DirectoryEntry) throws(FileError) {
        let directory = entry.directory.descriptor
        let result = entry.rawName.withCString { name in
            let unlinked = retrying { calls.unlinkAt(directory, name, 0) }
            // Linux reports EISDIR for a directory; POSIX specifies EPERM.
            guard unlinked == -EISDIR || unlinked == -EPERM else { return unlinked }
            let removed = retrying { calls.unlinkAt(directory, name, AT_REMOVEDIR) }
            // It isn't a directory, so the first error is the cause.
            return removed == -ENOTDIR ? unlinked : removed
        }
        try check(result, "remove", entry.shownPath)
    }

    // MARK: Files

    /// Opens only a regular file: opening a FIFO could block the thread, and opening a device may have side effects.
    func openRegularFile(
        _ entry: DirectoryEntry, _ flags: CInt, followsLinks: Bool
    ) throws(FileError) -> RawFile {
        let path = entry.shownPath
        switch entry.kind {
        case nil, .file, .symbolicLink, .directory: break
        default: throw Self.notRegular(path)
        }
        // O_NONBLOCK in case a FIFO has taken the name since. It has no effect on a regular file.
        let all = flags | O_NONBLOCK | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
        let descriptor = entry.rawName.withCString { name in
            retrying { calls.openAt(entry.directory.descriptor, name, all) }
        }
        if descriptor == -ENXIO || descriptor == -ENODEV { throw Self.notRegular(path, -descriptor) }
        try check(descriptor, "open", path)
        openCount.add(1, ordering: .relaxed)
        do throws(FileError) {
            let status = try status(ofDescriptor: descriptor, path)
            if status.isDirectory { throw FileError(operation: "open", path: path, systemError: EISDIR) }
            guard status.isRegularFile else { throw Self.notRegular(path) }
            return RawFile(descriptor: descriptor, path: path, status: status)
        } catch {
            closeQuietly(descriptor)
            throw error
        }
    }

    func openToWrite(_ entry: DirectoryEntry, _ existing: WriteOpening) throws(FileError) -> RawFile {
        if existing == .fail {
            // An entry is never created, so `.fail` always throws.
            let found = try status(of: entry.rawName, in: entry.directory, followsLinks: false)
            throw FileError(operation: "open", path: entry.shownPath, systemError: found == nil ? ENOENT : EEXIST)
        }
        let opened = try openRegularFile(
            entry, O_WRONLY | (existing == .append ? O_APPEND : 0), followsLinks: false)
        if existing == .replace, opened.status.size > 0 {
            do throws(FileError) {
                try truncate(opened.descriptor, to: 0, for: "empty", opened.path)
            } catch {
                closeQuietly(opened.descriptor)
                throw error
            }
        }
        return opened
    }

    private static func notRegular(_ path: String, _ number: CInt = 0) -> FileError {
        FileError(
            code: .notRegularFile, operation: "open", path: path, systemError: number,
            remedy: "Open it by its URL, because an entry can open only a regular file.")
    }
}
