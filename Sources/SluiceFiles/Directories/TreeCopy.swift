internal import CSluiceFiles

/// A copy of a tree: a walk through the source, and the path down to the directory of the destination that is being filled.
/// As in the walk, only the lowest directories of the destination are open. Those above are opened again through "..".
final class TreeCopy {
    struct Level {
        var directory: OpenDirectory?
        let place: DirectoryPlace
        let identity: FileIdentity
        /// The status of the original, before any of its entries was read.
        let source: RawStatus
    }

    struct FirstCopy {
        let place: DirectoryPlace
        let name: DirectoryEntry.Name
        let identity: FileIdentity
    }

    let io: FileIO
    let kernel: Kernel
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
        kernel = io.kernel
        self.options = options
        self.counter = counter
        self.root = root
        var walkOptions = WalkOptions()
        walkOptions.leavingDirectories = true
        walk = TreeWalk(root: root, options: walkOptions)
        try checkIsOutside(destination)
        let kernel = io.kernel
        let mode = directoryMode
        let directoryMade = destination.withCString { path in
            kernel.retrying { kernel.calls.makeDirectory(path, mode) }
        }
        try kernel.check(directoryMade, "create directory", destination)
        let directory = try openMade(destination)
        made(directory.status)
        push(directory, source: root.status)
    }

    /// Opens the directory that was created at the destination. After an error, removes it.
    private func openMade(_ destination: String) throws(FileError) -> OpenDirectory {
        do throws(FileError) {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            let descriptor = try kernel.open(destination, flags, for: "copy to")
            return try OpenDirectory(descriptor, DirectoryPlace(path: destination), io)
        } catch {
            _ = destination.withCString { path in kernel.retrying { kernel.calls.removeDirectory(path) } }
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
                // The walk doesn't leave a directory that was removed before it could enter it. A directory that the walk
                // entered, but that was removed before it was copied, has no level here; neither have its entries.
                let wanted = item.visit == .leaving ? item.depth + 1 : item.depth
                while levels.count > wanted { try leave(from: nil) }
                guard levels.count == wanted else { continue }
                if item.visit == .leaving { try leave(from: item.entry) } else { try copy(item.entry, cancellation) }
            }
        }
        while levels.count > 1 { try leave(from: nil) }
        try finish(levels[0], from: root.descriptor, root.place.shownPath())
        return result
    }

    private func copy(_ entry: DirectoryEntry, _ cancellation: borrowing Cancellation) throws {
        guard let status = try kernel.status(of: entry.rawName, in: entry.directory, followingLinks: false) else {
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
        options.keeping.contains(.permissions) ? 0o700 : FilePermissions.newDirectory.rawValue
    }

    private func enter(_ entry: DirectoryEntry, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) {
        if FileIdentity(status) == levels[0].identity { throw Self.intoItself(entry.shownPath) }
        let name = entry.rawName
        let made = name.withCString { name in
            kernel.retrying { kernel.calls.directories.makeDirectoryAt(directory.descriptor, name, directoryMode) }
        }
        try kernel.check(made, "create directory", directory.place.shownPath(of: name))
        let descriptor = try kernel.openDirectory(name, in: directory, followingLinks: false)
        push(try OpenDirectory(descriptor, DirectoryPlace(name, in: directory.place), io), source: status)
    }

    private func push(_ directory: OpenDirectory, source: RawStatus) {
        levels.append(
            Level(
                directory: directory, place: directory.place, identity: FileIdentity(directory.status), source: source))
        let far = levels.count - 1 - TreeWalk.maximumOpenDirectories
        if far >= 0 { OpenDirectory.release(&levels[far].directory) }
    }

    private func leave(from entry: DirectoryEntry?) throws(FileError) {
        if let entry {
            let source = try openOriginal(entry, levels[levels.count - 1].source)
            defer { if let source { kernel.closeQuietly(source) } }
            try finish(levels[levels.count - 1], from: source, entry.shownPath)
        }
        var child = levels.removeLast().directory
        let above = levels.count - 1
        if levels[above].directory == nil, let lowest = child {
            let descriptor = try kernel.openDirectory(DirectoryEntry.Name(".."), in: lowest, followingLinks: false)
            let directory = try OpenDirectory(descriptor, levels[above].place, io)
            guard FileIdentity(directory.status) == levels[above].identity else {
                throw FileError(
                    code: .busy, operation: "copy to", path: levels[above].place.shownPath(),
                    remedy: "Try again, because another process moved a directory of the copy.")
            }
            levels[above].directory = directory
        }
        OpenDirectory.release(&child)
        counter?.add(entries: 1)
        result.directories += 1
    }

    /// Opens a directory of the original again. Returns `nil` if it was removed or replaced after its entries were copied.
    private func openOriginal(_ entry: DirectoryEntry, _ wanted: RawStatus) throws(FileError) -> CInt? {
        let descriptor: CInt
        do throws(FileError) {
            descriptor = try kernel.openDirectory(entry.rawName, in: entry.directory, followingLinks: false)
        } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.systemError) {
            return nil
        }
        do throws(FileError) {
            let found = try kernel.status(ofDescriptor: descriptor, entry.shownPath)
            if found.isSameFile(as: wanted) { return descriptor }
        } catch {
            kernel.closeQuietly(descriptor)
            throw error
        }
        kernel.closeQuietly(descriptor)
        return nil
    }

    /// Copies the attributes of a directory after all its entries have been created. If the original is gone, the copy gets what its
    /// status said: the times, the owner, and of the mode the bits of the owner, because its access control list is unknown.
    private func finish(_ level: Level, from source: CInt?, _ sourcePath: String) throws(FileError) {
        guard let directory = level.directory else { preconditionFailure("The lowest directory must be open.") }
        let path = directory.place.shownPath()
        var original = OpenedFile(descriptor: source ?? directory.descriptor, path: sourcePath, status: level.source)
        var keeping = options.keeping
        if source == nil {
            keeping.remove(.extendedAttributes)
            original.status.mode &= ~0o7077
        }
        try kernel.copyAttributes(
            keeping, of: original,
            to: OpenedFile(descriptor: directory.descriptor, path: path, status: directory.status))
        if options.durability == .fullAndDirectory {
            let synced = kernel.retrying { kernel.calls.syncDirectory(directory.descriptor) }
            if synced != -EINVAL { try kernel.check(synced, "sync the directory", path) }
        }
        if levels.count == 1 {
            counter?.add(entries: 1)
            result.directories += 1
        }
    }

    private func checkIsOutside(_ destination: String) throws(FileError) {
        // The directories above may be ones that this process may search but not list.
        var directory: OpenDirectory? = try OpenDirectory.open(
            Path.directory(of: destination), io, toSearch: true, for: "copy to")
        while let current = directory {
            if current.status.isSameFile(as: root.status) { throw Self.intoItself(destination) }
            let descriptor = try kernel.openDirectory(
                DirectoryEntry.Name(".."), in: current, followingLinks: false, toSearch: true)
            let above = try OpenDirectory(descriptor, current.place, io)
            directory = above.status.isSameFile(as: current.status) ? nil : above
        }
    }

    private static func intoItself(_ path: String) -> FileError {
        FileError(
            code: .invalidArgument, operation: "copy a directory into itself at", path: path,
            remedy: "Choose a destination outside the source.")
    }
}
