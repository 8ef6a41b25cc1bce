internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Copies a directory and its contents to a new directory.
    ///
    /// Nothing may exist at the destination, but its parent directory must, and must be outside the source. If the source is a symbolic
    /// link to a directory, that link is followed. The copy is one job, which occupies a thread until it is done.
    ///
    /// Names are copied byte for byte, at any depth. If another process replaces a directory with a symbolic link during the copy, on
    /// either side, the link isn't followed. Files are copied as in ``copy(_:to:options:progress:)``. Symbolic links and FIFOs are
    /// recreated. Hard links within the tree stay hard links if the destination's file system supports them. A directory gets its mode and
    /// times after its contents have been copied. Until then, if modes are kept, only the current user can open it or the file being
    /// copied.
    ///
    /// An original that is removed during the copy is skipped. If it is a directory, the entries copied so far stay, in a directory that
    /// only its owner can open.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running copy throws it between pieces of at most 4 MiB.
    /// - Failure: A ``FileError`` for the first entry that can't be copied.
    ///
    /// After a failure or a cancellation, the partial copy is removed, unless ``TreeCopyOptions/removesOnFailure`` is false. If it isn't
    /// removed, it contains only complete files, and its directories may lack their mode and times.
    @discardableResult
    public func copyTree(
        _ source: URL, to destination: URL, options: TreeCopyOptions = .init(),
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws -> TreeCopyResult {
        let from = try Path.of(source, for: "copy")
        let to = try Path.of(destination, for: "copy to")
        let made = Made()
        do {
            return try await run { [self] cancellation in
                let root = try OpenDirectory.open(from, self, for: "copy")
                let counter = ProgressCounter(progress)
                let copy = try TreeCopy(root, to: to, options, counter) { status in
                    made.status.withLock { $0 = status }
                }
                let result = try copy.run(cancellation)
                if options.durability == .fullAndDirectory { try system.syncDirectory(of: to) }
                counter?.finish()
                return result
            }
        } catch {
            if options.removesOnFailure, let status = made.status.withLock({ $0 }) {
                try? await run(mustRun: true) { [system] cancellation in
                    // Only the directory that this copy created: another process may have put a different one there.
                    if try system.status(of: to, followsLinks: false)?.isSameFile(as: status) == true {
                        // Its finished directories may be read-only, like the originals.
                        try system.removeTree(to, cancellation, changingModes: true)
                    }
                }
            }
            throw error
        }
    }

    private final class Made: Sendable {
        let status = Lock<RawStatus?>(nil)
    }
}

/// Options for copying a tree. See ``FileIO/copyTree(_:to:options:progress:)``.
public struct TreeCopyOptions: Sendable, Hashable {
    /// The attributes to keep from the originals. Symbolic links and FIFOs get only the times and the owner, and a FIFO is created with
    /// the mode of the original, as masked by the umask.
    public var attributes: FileCopyOptions.Attributes

    /// What is guaranteed for each file after a power failure. Directories are synced only with ``Durability/fullAndDirectory``: the copied
    /// directories, and the one that contains the copy.
    public var durability: Durability

    /// What happens to a socket or device.
    public var specialFiles: SpecialFiles

    /// Whether a partial copy is removed after a failure or a cancellation. If false, it stays, and every file in it is complete.
    public var removesOnFailure: Bool

    /// What happens to a socket or device, which can't be copied.
    public enum SpecialFiles: Sendable, Hashable {
        /// The copy fails with ``FileError/Code/notRegularFile``.
        case fail
        /// The socket or device is skipped.
        case skip
    }

    /// Creates options. By default modes and times are kept, nothing is synced, and a partial copy is removed.
    public init(
        attributes: FileCopyOptions.Attributes = [.permissions, .times], durability: Durability = .none,
        specialFiles: SpecialFiles = .fail, removesOnFailure: Bool = true
    ) {
        self.attributes = attributes
        self.durability = durability
        self.specialFiles = specialFiles
        self.removesOnFailure = removesOnFailure
    }
}

/// The number of entries that a tree copy created. See ``FileIO/copyTree(_:to:options:progress:)``.
public struct TreeCopyResult: Sendable, Hashable {
    /// The number of regular files. A hard link counts as a file.
    public var files = 0
    /// The number of directories, including the topmost one.
    public var directories = 0
    /// The number of symbolic links.
    public var symbolicLinks = 0
    /// The number of FIFOs.
    public var fifos = 0
    /// The number of sockets and devices that were skipped.
    public var skipped = 0
    /// The size of all files in bytes, including holes. A file with several names is counted once.
    public var totalFileSize: Int64 = 0
}

// MARK: - Copying

/// A tree copy: a walk through the source, and the path down to the destination directory that is being filled. As in the walk, only the
/// lowest destination directories are open. The ones above are reopened through "..".
final class TreeCopy {
    struct Level {
        var directory: OpenDirectory?
        let path: DirectoryPath
        let identity: FileIdentity
        /// The status of the original, before any of its entries were read.
        let source: RawStatus
    }

    struct FirstCopy {
        let path: DirectoryPath
        let name: DirectoryEntry.Name
        let identity: FileIdentity
    }

    let io: FileIO
    let system: SystemInterface
    let options: TreeCopyOptions
    let counter: ProgressCounter?
    private let root: OpenDirectory
    private let walk: TreeWalk
    var levels: [Level] = []
    var firstCopies: [FileIdentity: FirstCopy] = [:]
    var result = TreeCopyResult()

    init(
        _ root: OpenDirectory, to destination: String, _ options: TreeCopyOptions, _ counter: ProgressCounter?,
        made: (RawStatus) -> Void
    ) throws(FileError) {
        io = root.io
        system = io.system
        self.options = options
        self.counter = counter
        self.root = root
        var walkOptions = WalkOptions()
        walkOptions.leavingDirectories = true
        walk = TreeWalk(root: root, options: walkOptions)
        try checkIsOutside(destination)
        let system = io.system
        let mode = directoryMode
        let directoryMade = destination.withCString { path in
            system.retrying { system.calls.createDirectory(path, mode) }
        }
        try system.check(directoryMade, "create directory", destination)
        let directory = try openMade(destination)
        made(directory.status)
        push(directory, source: root.status)
    }

    /// Opens the directory that was created at the destination. After an error, removes it.
    private func openMade(_ destination: String) throws(FileError) -> OpenDirectory {
        do throws(FileError) {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            let descriptor = try system.open(destination, flags, for: "copy to")
            return try OpenDirectory(descriptor, DirectoryPath(path: destination), io)
        } catch {
            _ = destination.withCString { path in system.retrying { system.calls.removeDirectory(path) } }
            throw error
        }
    }

    func run(_ cancellation: borrowing Cancellation) throws -> TreeCopyResult {
        defer {
            walk.close()
            while levels.popLast() != nil {}
        }
        while true {
            let batch = try walk.nextBatch(cancellation)
            if batch.isEmpty { break }
            for item in batch {
                try cancellation.check()
                // The walk doesn't leave a directory that was removed before it could enter it. A directory that the walk entered, but that
                // was removed before it was copied, has no level here, and neither do its entries.
                let wanted = item.visit == .leaving ? item.depth + 1 : item.depth
                while levels.count > wanted { try leave(from: nil) }
                guard levels.count == wanted else { continue }
                if item.visit == .leaving { try leave(from: item.entry) } else { try copy(item.entry, cancellation) }
            }
        }
        while levels.count > 1 { try leave(from: nil) }
        try finish(levels[0], from: root.descriptor, root.path.shown())
        return result
    }

    private func copy(_ entry: DirectoryEntry, _ cancellation: borrowing Cancellation) throws {
        guard let status = try system.status(of: entry.rawName, in: entry.directory, followsLinks: false) else {
            return
        }
        guard let directory = levels[levels.count - 1].directory else {
            preconditionFailure("The lowest directory must be open.")
        }
        switch FileStatus.Kind(status) {
        case .directory: return try enter(entry, status, in: directory)
        case .file:
            guard try copyFile(entry, in: directory, cancellation) else { return }
            result.files += 1
        case .symbolicLink:
            guard try copyLink(entry, status, in: directory) else { return }
            result.symbolicLinks += 1
        case .fifo:
            try makeFIFO(entry.rawName, status, in: directory)
            result.fifos += 1
        default:
            guard options.specialFiles == .skip else {
                throw FileError(
                    code: .notRegularFile, operation: "copy", path: entry.shownPath,
                    remedy: "Pass 'specialFiles: .skip' to leave out sockets and devices, which can't be copied.")
            }
            result.skipped += 1
        }
        counter?.add(entries: 1)
    }

    // MARK: Directories

    private var directoryMode: UInt32 {
        options.attributes.contains(.permissions) ? 0o700 : FilePermissions.newDirectory.rawValue
    }

    private func enter(_ entry: DirectoryEntry, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) {
        if FileIdentity(status) == levels[0].identity { throw Self.intoItself(entry.shownPath) }
        let name = entry.rawName
        let made = name.withCString { name in
            system.retrying { system.calls.directories.makeDirectoryAt(directory.descriptor, name, directoryMode) }
        }
        try system.check(made, "create directory", directory.path.shown(of: name))
        let descriptor = try system.openDirectory(name, in: directory, followsLinks: false)
        push(try OpenDirectory(descriptor, DirectoryPath(name, in: directory.path), io), source: status)
    }

    private func push(_ directory: OpenDirectory, source: RawStatus) {
        levels.append(
            Level(
                directory: directory, path: directory.path, identity: FileIdentity(directory.status), source: source))
        let far = levels.count - 1 - TreeWalk.maximumOpenDirectories
        if far >= 0 { OpenDirectory.release(&levels[far].directory) }
    }

    private func leave(from entry: DirectoryEntry?) throws(FileError) {
        if let entry {
            let source = try openOriginal(entry, levels[levels.count - 1].source)
            defer { if let source { system.closeQuietly(source) } }
            try finish(levels[levels.count - 1], from: source, entry.shownPath)
        }
        var child = levels.removeLast().directory
        let above = levels.count - 1
        if levels[above].directory == nil, let lowest = child {
            let descriptor = try system.openDirectory(DirectoryEntry.Name(".."), in: lowest, followsLinks: false)
            let directory = try OpenDirectory(descriptor, levels[above].path, io)
            guard FileIdentity(directory.status) == levels[above].identity else {
                throw FileError(
                    code: .busy, operation: "copy to", path: levels[above].path.shown(),
                    remedy: "Try again, because another process moved a directory of the copy.")
            }
            levels[above].directory = directory
        }
        OpenDirectory.release(&child)
        counter?.add(entries: 1)
        result.directories += 1
    }

    /// Reopens a directory of the original. Returns `nil` if it was removed or replaced after its entries were copied.
    private func openOriginal(_ entry: DirectoryEntry, _ wanted: RawStatus) throws(FileError) -> CInt? {
        let descriptor: CInt
        do throws(FileError) {
            descriptor = try system.openDirectory(entry.rawName, in: entry.directory, followsLinks: false)
        } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.systemError) {
            return nil
        }
        do throws(FileError) {
            let found = try system.status(ofDescriptor: descriptor, entry.shownPath)
            if found.isSameFile(as: wanted) { return descriptor }
        } catch {
            system.closeQuietly(descriptor)
            throw error
        }
        system.closeQuietly(descriptor)
        return nil
    }

    /// Copies the attributes of a directory after all its entries have been created. If the original is gone, the copy gets what the
    /// recorded status says: the times, the owner, and only the owner's mode bits, because the access control list is unknown.
    private func finish(_ level: Level, from source: CInt?, _ sourcePath: String) throws(FileError) {
        guard let directory = level.directory else { preconditionFailure("The lowest directory must be open.") }
        let path = directory.path.shown()
        var original = RawFile(descriptor: source ?? directory.descriptor, path: sourcePath, status: level.source)
        var keeping = options.attributes
        if source == nil {
            keeping.remove(.extendedAttributes)
            original.status.mode &= ~0o7077
        }
        try system.copyAttributes(
            keeping, of: original,
            to: RawFile(descriptor: directory.descriptor, path: path, status: directory.status))
        if options.durability == .fullAndDirectory {
            let synced = system.retrying { system.calls.syncDirectory(directory.descriptor) }
            if synced != -EINVAL { try system.check(synced, "sync the directory", path) }
        }
        if levels.count == 1 {
            counter?.add(entries: 1)
            result.directories += 1
        }
    }

    private func checkIsOutside(_ destination: String) throws(FileError) {
        // This process may be allowed to search the directories above but not to list them.
        var directory: OpenDirectory? = try OpenDirectory.open(
            Path.directory(of: destination), io, toSearch: true, for: "copy to")
        while let current = directory {
            if current.status.isSameFile(as: root.status) { throw Self.intoItself(destination) }
            let descriptor = try system.openDirectory(
                DirectoryEntry.Name(".."), in: current, followsLinks: false, toSearch: true)
            let above = try OpenDirectory(descriptor, current.path, io)
            directory = above.status.isSameFile(as: current.status) ? nil : above
        }
    }

    private static func intoItself(_ path: String) -> FileError {
        FileError(
            code: .invalidArgument, operation: "copy a directory into itself at", path: path,
            remedy: "Choose a destination outside the source.")
    }
}

// MARK: - Files

extension TreeCopy {
    /// Copies a file, or hard-links it to its first copy. Returns false if the file no longer exists.
    func copyFile(
        _ entry: DirectoryEntry, in directory: OpenDirectory, _ cancellation: borrowing Cancellation
    ) throws -> Bool {
        guard let source = try openIfThere(entry) else { return false }
        defer { system.closeQuietly(source.descriptor) }
        if source.status.links > 1, try linkToFirstCopy(of: source.status, as: entry.rawName, in: directory) {
            return true
        }
        let path = directory.path.shown(of: entry.rawName)
        let mode: UInt32 = options.attributes.contains(.permissions) ? 0o600 : FilePermissions.newFile.rawValue
        let copy = try system.create(entry.rawName, in: directory, mode: mode, path)
        var descriptor: CInt? = copy.descriptor
        do {
            let copied = try system.copyContents(of: source, to: copy, progress: counter, cancellation)
            try system.copyAttributes(options.attributes, of: source, to: copy)
            try system.sync(copy.descriptor, options.durability, path)
            descriptor = nil
            try system.close(copy.descriptor, path)
            result.totalFileSize = result.totalFileSize.addingClamped(copied.fileSize)
        } catch {
            _ = entry.rawName.withCString { name in
                system.retrying { system.calls.unlinkAt(directory.descriptor, name, 0) }
            }
            if let descriptor { system.closeQuietly(descriptor) }
            throw error
        }
        if source.status.links > 1 {
            firstCopies[FileIdentity(source.status)] = FirstCopy(
                path: directory.path, name: entry.rawName, identity: FileIdentity(copy.status))
        }
        return true
    }

    private func openIfThere(_ entry: DirectoryEntry) throws(FileError) -> RawFile? {
        do throws(FileError) {
            return try system.openRegularFile(entry, O_RDONLY, followsLinks: false)
        } catch {
            if error.systemError == ENOENT { return nil }
            throw error
        }
    }

    /// Creates a hard link to the first copy of a file. Returns false if that isn't possible, and the caller must copy the file.
    private func linkToFirstCopy(
        of status: RawStatus, as name: DirectoryEntry.Name, in directory: OpenDirectory
    ) throws(FileError) -> Bool {
        guard let first = firstCopies[FileIdentity(status)] else { return false }
        guard let firstDirectory = try? openAgain(first.path) else { return false }
        let linked = first.name.withCString { from in
            name.withCString { to in
                system.retrying {
                    system.calls.directories.linkAt(firstDirectory.descriptor, from, directory.descriptor, to)
                }
            }
        }
        guard linked == 0 else { return false }
        // Another process may have put a different file under the first name.
        if let found = try system.status(of: name, in: directory, followsLinks: false),
            FileIdentity(found) == first.identity
        {
            return true
        }
        let unlinked = name.withCString { name in
            system.retrying { system.calls.unlinkAt(directory.descriptor, name, 0) }
        }
        try system.check(unlinked, "remove", directory.path.shown(of: name))
        return false
    }

    /// Opens a directory of the copy by its names from the top, without following links.
    private func openAgain(_ path: DirectoryPath) throws(FileError) -> OpenDirectory {
        let names = path.names
        guard let top = levels[0].directory else {
            // The top was closed to save descriptors. Reopens it by its path, and checks that it is the same directory.
            let path = levels[0].path.shown()
            let directory = try OpenDirectory(
                try system.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, for: "copy to"), levels[0].path, io)
            guard FileIdentity(directory.status) == levels[0].identity else {
                throw FileError(code: .replaced, operation: "copy to", path: path)
            }
            return try open(names, below: directory)
        }
        return try open(names, below: top)
    }

    private func open(_ names: [DirectoryEntry.Name], below top: OpenDirectory) throws(FileError) -> OpenDirectory {
        var directory = top
        for name in names {
            let descriptor = try system.openDirectory(name, in: directory, followsLinks: false)
            directory = try OpenDirectory(descriptor, DirectoryPath(name, in: directory.path), io)
        }
        return directory
    }

    // MARK: Links and FIFOs

    func makeFIFO(_ name: DirectoryEntry.Name, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) {
        let made = name.withCString { name in
            system.retrying { system.calls.directories.makeFIFOAt(directory.descriptor, name, status.permissions) }
        }
        try system.check(made, "create FIFO", directory.path.shown(of: name))
        try copyAttributes(status, to: name, in: directory)
    }

    /// Creates a link with the same target. Returns false if the original link no longer exists.
    func copyLink(_ entry: DirectoryEntry, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) -> Bool {
        let directories = system.calls.directories
        let (read, made) = entry.rawName.withCString { name in
            withUnsafeTemporaryAllocation(byteCount: Self.longestTarget + 2, alignment: 1) { buffer -> (Int, CInt) in
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer.dropLast())
                let count = system.retrying { directories.readLinkAt(entry.directory.descriptor, name, room) }
                if count < 0 { return (count, 0) }
                // readlinkat(2) truncates without an error, so a result is complete only if it leaves room in the buffer.
                if count == room.count { return (-Int(ENAMETOOLONG), 0) }
                buffer[count] = 0
                let target = UnsafePointer(buffer.baseAddress!.assumingMemoryBound(to: CChar.self))
                return (count, system.retrying { directories.symbolicLinkAt(target, directory.descriptor, name) })
            }
        }
        if read == -Int(ENOENT) { return false }
        try system.check(read, "read the symbolic link", entry.shownPath)
        try system.check(made, "create symbolic link", directory.path.shown(of: entry.rawName))
        try copyAttributes(status, to: entry.rawName, in: directory)
        return true
    }

    /// Copies the attributes that can be set without opening the file and without following a link that has taken its place.
    private func copyAttributes(_ status: RawStatus, to name: DirectoryEntry.Name, in directory: OpenDirectory)
        throws(FileError)
    {
        let directories = system.calls.directories
        let path = directory.path.shown(of: name)
        if options.attributes.contains(.owner) {
            let result = name.withCString { name in
                system.retrying { directories.changeOwnerAt(directory.descriptor, name, status.user, status.group) }
            }
            try system.check(result, "set the owner of", path)
        }
        if options.attributes.contains(.times) {
            let result = name.withCString { name in
                system.retrying { directories.setTimesAt(directory.descriptor, name, status.modified, status.accessed) }
            }
            try system.check(result, "set the times of", path)
        }
    }

    /// PATH_MAX, the longest link target.
    private static var longestTarget: Int { 4096 }
}

extension SystemInterface {
    fileprivate func create(
        _ name: DirectoryEntry.Name, in directory: OpenDirectory, mode: UInt32, _ path: String
    ) throws(FileError) -> RawFile {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = name.withCString { name in
            retrying { calls.directories.createAt(directory.descriptor, name, flags, mode) }
        }
        try check(descriptor, "create", path)
        openCount.add(1, ordering: .relaxed)
        do throws(FileError) {
            let status = try status(ofDescriptor: descriptor, path)
            return RawFile(descriptor: descriptor, path: path, status: status)
        } catch {
            _ = name.withCString { name in retrying { calls.unlinkAt(directory.descriptor, name, 0) } }
            closeQuietly(descriptor)
            throw error
        }
    }
}
