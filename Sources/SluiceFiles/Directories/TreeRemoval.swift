internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Removes a directory and its contents, or a single file.
    ///
    /// Symbolic links are removed but never followed, even if another process replaces a directory with a link during the call. The tree
    /// may have any depth. The removal is one job, which occupies a thread until it is done. Entries that were removed before an error stay
    /// removed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running call throws it between entries.
    /// - Failure: A ``FileError`` for the first entry that can't be removed: ``FileError/Code/notFound`` if nothing exists at the
    ///   URL, and ``FileError/Code/notEmpty`` for a directory that other processes keep filling. See openat(2), unlinkat(2).
    public func removeTree(_ url: URL, progress: (@Sendable (FileProgress) -> Void)? = nil) async throws {
        let path = try Path.of(url, for: "remove")
        try await run { [system] cancellation in
            let counter = ProgressCounter(progress)
            try system.removeTree(path, cancellation, counter)
            counter?.finish()
        }
    }
}

extension DirectoryEntry {
    /// Removes this directory and its contents, or a single file. See ``FileIO/removeTree(_:progress:)``.
    public func removeTree(progress: (@Sendable (FileProgress) -> Void)? = nil) async throws {
        try await directory.io.run { [self] cancellation in
            let counter = ProgressCounter(progress)
            try system.removeTree(self, cancellation, counter)
            counter?.finish()
        }
    }
}

extension SystemInterface {
    /// The number of directories that are open at a time. Directories further up are reopened through "..".
    static var maximumOpenDirectories: Int { 16 }

    /// The number of entries to read per listing. Once they are removed, the directory is read again from the start.
    static var entriesPerListing: Int { 1024 }

    /// `changingModes` is for a tree that this process created: if a directory can't be read or changed, its owner gets all permissions
    /// first.
    func removeTree(
        _ path: String, _ cancellation: borrowing Cancellation, _ counter: ProgressCounter? = nil,
        changingModes: Bool = false
    ) throws {
        if let root = try openTree(path, changingModes: changingModes) {
            try empty(root, path, cancellation, counter, changingModes: changingModes)
        }
        try remove(path)
        counter?.add(entries: 1)
    }

    fileprivate func removeTree(
        _ entry: DirectoryEntry, _ cancellation: borrowing Cancellation, _ counter: ProgressCounter?
    ) throws {
        let child = entry.rawName.withCString { openDirectory($0, in: entry.directory.descriptor) }
        if child != -ENOTDIR, child != -ELOOP {
            try check(child, "remove", entry.shownPath)
            try empty(child, entry.shownPath, cancellation, counter)
        }
        try remove(entry)
        counter?.add(entries: 1)
    }

    /// Opens a directory, or returns `nil` for anything else, including a link to a directory.
    private func openTree(_ path: String, changingModes: Bool) throws(FileError) -> CInt? {
        do throws(FileError) {
            return try open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, for: "remove")
        } catch {
            if error.systemError == ENOTDIR || error.systemError == ELOOP { return nil }
            if error.systemError == EACCES, changingModes, path.withCString({ makeUsable($0, in: AT_FDCWD) }) {
                return try openTree(path, changingModes: false)
            }
            throw error
        }
    }

    /// Gives the owner of a directory all permissions. Returns whether that succeeded. A link that has taken its place isn't followed.
    fileprivate func makeUsable(_ name: UnsafePointer<CChar>, in directory: CInt) -> Bool {
        retrying { calls.directories.changeModeAt(directory, name, 0o700) } == 0
    }

    private func empty(
        _ root: CInt, _ path: String, _ cancellation: borrowing Cancellation, _ counter: ProgressCounter?,
        changingModes: Bool = false
    ) throws {
        var walk = RemovalWalk(system: self, path: path, counter: counter, changingModes: changingModes)
        try walk.enter(root, name: nil)
        while try walk.step() { try cancellation.check() }
    }
}

/// The directories from the root of the tree down to the one being emptied. A list, because recursion could overflow the stack.
private struct RemovalWalk: ~Copyable {
    private struct Directory {
        var descriptor: CInt?
        var name: [CChar]?
        var status: RawStatus
        var entries: [RawEntry] = []
        /// The number of consecutive listings in which no entry could be removed, because each was gone or had been refilled.
        var fruitlessListings = 0
    }

    let system: SystemInterface
    let path: String
    let counter: ProgressCounter?
    private let changingModes: Bool
    private var directories: [Directory] = []

    init(system: SystemInterface, path: String, counter: ProgressCounter?, changingModes: Bool) {
        self.changingModes = changingModes
        self.system = system
        self.path = path
        self.counter = counter
    }

    deinit {
        for directory in directories {
            if let descriptor = directory.descriptor { system.closeQuietly(descriptor) }
        }
    }

    mutating func enter(_ descriptor: CInt, name: [CChar]?) throws(FileError) {
        directories.append(Directory(descriptor: descriptor, name: name, status: RawStatus()))
        directories[directories.count - 1].status = try system.status(ofDescriptor: descriptor, path)
        let far = directories.count - 1 - SystemInterface.maximumOpenDirectories
        if far >= 0, let old = directories[far].descriptor.take() { system.closeQuietly(old) }
    }

    /// Removes an entry, enters a directory or leaves one. Returns whether there is more to do.
    mutating func step() throws(FileError) -> Bool {
        let last = directories.count - 1
        let descriptor = directories[last].descriptor!
        guard let entry = directories[last].entries.popLast() else {
            let found = system.retrying {
                system.calls.list(descriptor, SystemInterface.entriesPerListing, &directories[last].entries)
            }
            try check(found)
            if found == 0 { return try leave() }
            // Some file systems list entries that can't be removed, such as a file that a server keeps until it is closed.
            directories[last].fruitlessListings += 1
            if directories[last].fruitlessListings > Self.maximumFruitlessListings { try check(-ENOTEMPTY) }
            return true
        }
        if entry.isDirectory != true {
            let result = entry.name.withUnsafeBufferPointer { unlink($0.baseAddress!, in: descriptor, flags: 0) }
            if result == 0 { removed(in: last) }
            if result == 0 || result == -ENOENT { return true }
            // Linux reports EISDIR for a directory; POSIX specifies EPERM.
            guard result == -EISDIR || (result == -EPERM && entry.isDirectory == nil) else {
                try check(result, entry.name)
                return true
            }
        }
        let child = entry.name.withUnsafeBufferPointer { open($0.baseAddress!, in: descriptor) }
        switch child {
        case -ENOENT: return true
        case -ENOTDIR, -ELOOP:
            // Another process replaced it with a file or a link after the listing.
            let result = entry.name.withUnsafeBufferPointer { unlink($0.baseAddress!, in: descriptor, flags: 0) }
            if result == 0 { removed(in: last) }
            if result != -ENOENT { try check(result, entry.name) }
        default:
            try check(child, entry.name)
            try enter(child, name: entry.name)
        }
        return true
    }

    /// Moves up, and removes the emptied directory. Returns false at the root, which the caller removes by its path.
    private mutating func leave() throws(FileError) -> Bool {
        let child = directories.removeLast()
        defer { system.closeQuietly(child.descriptor!) }
        guard let name = child.name else { return false }
        let above = directories.count - 1
        if directories[above].descriptor == nil {
            let reopened = system.openDirectory("..", in: child.descriptor!)
            try check(reopened, name)
            directories[above].descriptor = reopened
            let status = try system.status(ofDescriptor: reopened, path)
            guard status.isSameFile(as: directories[above].status) else {
                throw FileError(
                    code: .busy, operation: "remove", path: path,
                    remedy: "Try again, because another process moved a directory of the tree.")
            }
        }
        let result = name.withUnsafeBufferPointer {
            unlink($0.baseAddress!, in: directories[above].descriptor!, flags: AT_REMOVEDIR)
        }
        if result == 0 { removed(in: above) }
        // If it isn't empty, another task or process has put a file there. A later listing of the directory above finds it again.
        if result != -ENOENT, result != -ENOTEMPTY { try check(result, name) }
        return true
    }

    private static var maximumFruitlessListings: Int { 100 }

    private mutating func removed(in directory: Int) {
        directories[directory].fruitlessListings = 0
        counter?.add(entries: 1)
    }

    private func unlink(_ name: UnsafePointer<CChar>, in directory: CInt, flags: CInt) -> CInt {
        let result = system.retrying { system.calls.unlinkAt(directory, name, flags) }
        guard result == -EACCES, makeUsable(directory) else { return result }
        return system.retrying { system.calls.unlinkAt(directory, name, flags) }
    }

    /// Opens a directory. EACCES may be about the directory above, if searching it isn't allowed, or about the directory itself.
    private func open(_ name: UnsafePointer<CChar>, in directory: CInt) -> CInt {
        let result = system.openDirectory(name, in: directory)
        guard result == -EACCES, makeUsable(directory) else { return result }
        let second = system.openDirectory(name, in: directory)
        guard second == -EACCES, system.makeUsable(name, in: directory) else { return second }
        return system.openDirectory(name, in: directory)
    }

    private func makeUsable(_ directory: CInt) -> Bool {
        changingModes && system.retrying { system.calls.changeMode(directory, 0o700) } == 0
    }

    /// Throws the error of a failed call. The path is computed only here.
    private func check(_ result: CInt, _ name: [CChar]? = nil) throws(FileError) {
        guard result < 0 else { return }
        var full = path
        for name in directories.map(\.name) + [name] {
            guard let name else { continue }
            full = Path.join(full, String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        throw FileError(operation: "remove", path: full, systemError: -result)
    }
}
