internal import CSluiceFiles

/// One copy of a tree: a walk through the source, and beside it the way down to the folder that is being filled.
///
/// As in the walk, only the lowest folders of the destination are open; those above are opened again through "..".
final class TreeCopy {
    struct Level {
        /// nil while it is closed to save descriptors.
        var folder: OpenFolder?
        let place: FolderPlace
        let identity: FileIdentity
        /// Of the original, before anything in it was read.
        let source: RawStatus
    }

    /// A file with several names: where the first copy is.
    struct FirstCopy {
        let place: FolderPlace
        let name: FileName
        let identity: FileIdentity
    }

    let io: FileIO
    let kernel: Kernel
    let options: TreeCopyOptions
    let counter: ProgressCounter?
    private let root: OpenFolder
    private let walk: TreeWalk
    var levels: [Level] = []
    var firstCopies: [FileIdentity: FirstCopy] = [:]
    var result = TreeCopyResult()

    /// Makes the folder at the destination.
    init(
        _ root: OpenFolder, to destination: String, _ options: TreeCopyOptions, _ counter: ProgressCounter?,
        made: (RawStatus) -> Void
    ) throws(FileError) {
        io = root.io
        kernel = io.kernel
        self.options = options
        self.counter = counter
        self.root = root
        var walkOptions = WalkOptions()
        walkOptions.leavingFolders = true
        walk = TreeWalk(root: root, options: walkOptions)
        try checkIsOutside(destination)
        let kernel = io.kernel
        let mode = folderMode
        let folderMade = destination.withCString { path in
            kernel.retrying { kernel.calls.makeDirectory(path, mode) }
        }
        try kernel.check(folderMade, "make folder", destination)
        let folder = try openMade(destination)
        made(folder.status)
        push(folder, source: root.status)
    }

    /// Opens the folder that was made at the destination, or removes it again.
    private func openMade(_ destination: String) throws(FileError) -> OpenFolder {
        do throws(FileError) {
            let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
            let descriptor = try kernel.open(destination, flags, for: "copy to")
            return try OpenFolder(descriptor, FolderPlace(path: destination), io)
        } catch {
            _ = destination.withCString { path in kernel.retrying { kernel.calls.removeDirectory(path) } }
            throw error
        }
    }

    /// Copies all that the walk comes by.
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
                // A folder that was gone before the walk could enter it is not left either, and one that the walk entered but
                // that was gone when it was to be copied has no level: nor has what is in it.
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
        guard let status = try kernel.status(of: entry.rawName, in: entry.folder, followingLinks: false) else { return }
        guard let folder = levels[levels.count - 1].folder else { preconditionFailure("The lowest folder is open.") }
        switch FileStatus.Kind(status) {
        case .directory: return try enter(entry, status, in: folder)
        case .file:
            guard try copyFile(entry, in: folder, cancellation) else { return }
            result.files += 1
        case .symbolicLink:
            guard try copyLink(entry, status, in: folder) else { return }
            result.symbolicLinks += 1
        case .fifo:
            try makeFIFO(entry.rawName, status, in: folder)
            result.fifos += 1
        default:
            guard options.specialFiles == .skip else {
                throw FileError(
                    code: .notRegularFile, operation: "copy", path: entry.shownPath,
                    remedy: "Sockets and devices are not copied: leave them out with `specialFiles: .skip`.")
            }
            result.skipped += 1
        }
        counter?.add(entries: 1)
    }

    // MARK: Folders

    private var folderMode: UInt32 {
        options.keeping.contains(.permissions) ? 0o700 : FilePermissions.newDirectory.rawValue
    }

    private func enter(_ entry: DirectoryEntry, _ status: RawStatus, in folder: OpenFolder) throws(FileError) {
        if FileIdentity(status) == levels[0].identity { throw Self.intoItself(entry.shownPath) }
        let name = entry.rawName
        let made = name.withCString { name in
            kernel.retrying { kernel.calls.folders.makeDirectoryAt(folder.descriptor, name, folderMode) }
        }
        try kernel.check(made, "make folder", folder.place.shownPath(of: name))
        let descriptor = try kernel.openFolder(name, in: folder, followingLinks: false)
        push(try OpenFolder(descriptor, FolderPlace(name, in: folder.place), io), source: status)
    }

    private func push(_ folder: OpenFolder, source: RawStatus) {
        levels.append(
            Level(
                folder: folder, place: folder.place, identity: FileIdentity(folder.status), source: source))
        let far = levels.count - 1 - TreeWalk.mostOpenFolders
        if far >= 0 { OpenFolder.release(&levels[far].folder) }
    }

    /// Completes the lowest folder and goes up.
    private func leave(from entry: DirectoryEntry?) throws(FileError) {
        if let entry {
            let source = try kernel.openFolder(entry.rawName, in: entry.folder, followingLinks: false)
            defer { kernel.closeQuietly(source) }
            try finish(levels[levels.count - 1], from: source, entry.shownPath)
        }
        var child = levels.removeLast().folder
        let above = levels.count - 1
        if levels[above].folder == nil, let lowest = child {
            let descriptor = try kernel.openFolder(FileName(".."), in: lowest, followingLinks: false)
            let folder = try OpenFolder(descriptor, levels[above].place, io)
            guard FileIdentity(folder.status) == levels[above].identity else {
                throw FileError(
                    code: .busy, operation: "copy to", path: levels[above].place.shownPath(),
                    remedy: "Somebody moved a folder of the copy meanwhile: try again.")
            }
            levels[above].folder = folder
        }
        OpenFolder.release(&child)
        counter?.add(entries: 1)
        result.folders += 1
    }

    /// Gives a folder what its original has, now that nothing is added to it any more.
    private func finish(_ level: Level, from source: CInt, _ sourcePath: String) throws(FileError) {
        guard let folder = level.folder else { preconditionFailure("The lowest folder is open.") }
        let path = folder.place.shownPath()
        try kernel.copyAttributes(
            options.keeping, of: OpenedFile(descriptor: source, path: sourcePath, status: level.source),
            to: OpenedFile(descriptor: folder.descriptor, path: path, status: folder.status))
        if options.durability == .fullAndDirectory {
            let synced = kernel.retrying { kernel.calls.syncFolder(folder.descriptor) }
            if synced != -EINVAL { try kernel.check(synced, "sync the folder", path) }
        }
        if levels.count == 1 {
            counter?.add(entries: 1)
            result.folders += 1
        }
    }

    /// Throws if a folder above the destination is the source, or the source itself is.
    private func checkIsOutside(_ destination: String) throws(FileError) {
        var folder: OpenFolder? = try OpenFolder.open(Path.folder(of: destination), io, for: "copy to")
        while let current = folder {
            if current.status.isSameFile(as: root.status) { throw Self.intoItself(destination) }
            let descriptor = try kernel.openFolder(FileName(".."), in: current, followingLinks: false)
            let above = try OpenFolder(descriptor, current.place, io)
            folder = above.status.isSameFile(as: current.status) ? nil : above
        }
    }

    private static func intoItself(_ path: String) -> FileError {
        FileError(
            code: .invalidArgument, operation: "copy a folder into itself, to", path: path,
            remedy: "Choose a destination that does not lie in the source.")
    }
}
