internal import CSluiceFiles
internal import DequeModule

/// A walk through a tree: the way from its root down to the folder being read, as a list and not as a recursion.
///
/// Used by one job after the other, on whichever thread. Only the lowest folders stay open; one further up is read to its end,
/// closed, and opened again through ".." on the way back, if that still is the same folder.
final class TreeWalk: @unchecked Sendable {
    // No lock: its owner (WalkStorage, TreeCopy) gives it to one job at a time, and a lane's lock lies between two jobs.
    private var levels: [Level] = []
    /// Folders left, or far above, that entries of this batch may still hold: closed at the beginning of the next, where
    /// that takes no job of its own.
    private var retired: [OpenFolder?] = []
    private var opened = 0
    private var identities: Set<FileIdentity> = []
    private var failure: FileError?

    private let options: WalkOptions
    private let depthOfRoot: Int
    private var kernel: Kernel { io.kernel }
    private let io: FileIO

    private struct Level {
        /// nil while it is closed to save descriptors.
        var folder: OpenFolder?
        let place: FolderPlace
        let identity: FileIdentity
        /// Its own entry in the folder above; nil for the root.
        let entry: RawFolderEntry?
        /// Whether ".." does not lead back: entered by a symbolic link.
        let isByLink: Bool
        var pending = Deque<RawFolderEntry>()
        var isRead = false
        /// Why it was not read to its end; delivered after what could be read.
        var failure: FileError?
    }

    /// The folders on the way down that are open at once.
    static var mostOpenFolders: Int { 16 }
    /// The entries, and the folders that they hold open, of one batch.
    static var mostPerBatch: Int { 512 }
    static var mostFoldersPerBatch: Int { 16 }
    /// The links entered on one way down: MAXSYMLINKS of the kernel.
    static var mostLinks: Int { 40 }

    init(root: OpenFolder, options: WalkOptions) {
        self.options = options
        io = root.io
        depthOfRoot = root.place.depth
        push(root, entry: nil, isByLink: false)
    }

    /// The next entries; none at the end. What came before a failure is delivered first.
    func nextBatch(_ cancellation: borrowing Cancellation) throws -> [WalkedEntry] {
        releaseRetired()
        opened = 0
        if let failure { throw failure }
        var batch: [WalkedEntry] = []
        while !levels.isEmpty, batch.count < Self.mostPerBatch, opened < Self.mostFoldersPerBatch || batch.isEmpty {
            try cancellation.check()
            // On the way up from the depth nothing is delivered, and each folder is opened again.
            if batch.isEmpty { releaseRetired() }
            do throws(FileError) {
                try step(&batch)
            } catch {
                if batch.isEmpty { throw error }
                failure = error
                break
            }
        }
        return batch
    }

    /// Closes what nobody else holds, at once.
    func close() {
        releaseRetired()
        for index in levels.indices { OpenFolder.release(&levels[index].folder) }
        levels = []
    }

    private func releaseRetired() {
        for index in retired.indices { OpenFolder.release(&retired[index]) }
        retired = []
    }

    // MARK: Steps

    /// Delivers one entry, reads on, or leaves a folder.
    private func step(_ batch: inout [WalkedEntry]) throws(FileError) {
        let last = levels.count - 1
        guard let raw = levels[last].pending.popFirst() else {
            if let error = levels[last].failure.take() {
                return try deliver(error, of: levels[last].entry, in: last - 1, &batch)
            }
            return levels[last].isRead ? try leave(&batch) : read(last)
        }
        guard let folder = levels[last].folder else { preconditionFailure("The lowest folder is open.") }
        let item = WalkedEntry(DirectoryEntry(raw, in: folder), .found, depthOfRoot: depthOfRoot)
        batch.append(item)
        guard mayBeFolder(item.kind), item.depth < options.mostDepth, options.entering?(item) != false else { return }
        do throws(FileError) {
            try enter(item, raw)
        } catch {
            try deliver(error, of: raw, in: last, &batch)
        }
    }

    private func mayBeFolder(_ kind: FileStatus.Kind?) -> Bool {
        kind == .directory || kind == nil || (kind == .symbolicLink && options.followingLinks)
    }

    /// Reads the next entries. A failure comes after all entries that were read.
    private func read(_ index: Int) {
        guard let folder = levels[index].folder else { preconditionFailure("A closed folder was read to its end.") }
        var entries: [RawFolderEntry] = []
        do throws(FileError) {
            levels[index].isRead = try !kernel.readEntries(of: folder, into: &entries)
        } catch {
            levels[index].isRead = true
            levels[index].failure = error
        }
        levels[index].pending.append(contentsOf: entries)
    }

    private func enter(_ item: WalkedEntry, _ raw: RawFolderEntry) throws(FileError) {
        guard let (child, isByLink) = try open(item.entry) else { return }
        opened += 1
        let identity = FileIdentity(child.status)
        let isElsewhere = child.status.device != levels[0].identity.device
        if (isElsewhere && !options.crossingFileSystems) || identities.contains(identity) {
            return retired.append(child)
        }
        if isByLink, levels.count(where: \.isByLink) >= Self.mostLinks {
            retired.append(child)
            throw FileError(operation: "walk", path: item.entry.shownPath, systemError: ELOOP)
        }
        push(child, entry: raw, isByLink: isByLink)
        closeFarFolder()
    }

    /// Opens a folder itself, or what a link leads to where links are followed; nil for anything else.
    private func open(_ entry: DirectoryEntry) throws(FileError) -> (OpenFolder, isByLink: Bool)? {
        for isByLink in options.followingLinks ? [false, true] : [false] {
            do throws(FileError) {
                return (try entry.openFolder(followingLinks: isByLink), isByLink)
            } catch {
                switch error.systemError {
                // Gone, or no folder (any more); a link, a dangling one or a loop of them.
                case ENOENT, ENOTDIR, ELOOP: continue
                default: throw error
                }
            }
        }
        return nil
    }

    private func push(_ folder: OpenFolder, entry: RawFolderEntry?, isByLink: Bool) {
        let identity = FileIdentity(folder.status)
        levels.append(
            Level(folder: folder, place: folder.place, identity: identity, entry: entry, isByLink: isByLink))
        if options.followingLinks { identities.insert(identity) }
    }

    /// Closes the folder that is too far above, unless the way back to it is by a link.
    private func closeFarFolder() {
        let far = levels.count - 1 - Self.mostOpenFolders
        guard far >= 0, levels[far].folder != nil, !levels[far + 1].isByLink else { return }
        while !levels[far].isRead { read(far) }
        retired.append(levels[far].folder.take())
    }

    // MARK: The way back

    /// Goes up, and delivers the folder that was walked.
    private func leave(_ batch: inout [WalkedEntry]) throws(FileError) {
        let child = levels.removeLast()
        retired.append(child.folder)
        identities.remove(child.identity)
        guard let entry = child.entry, let folder = child.folder else { return }
        let above = levels.count - 1
        if levels[above].folder == nil { levels[above].folder = try reopen(levels[above], from: folder) }
        if options.leavingFolders, let parent = levels[above].folder {
            batch.append(WalkedEntry(DirectoryEntry(entry, in: parent), .leaving, depthOfRoot: depthOfRoot))
        }
    }

    private func reopen(_ level: Level, from child: OpenFolder) throws(FileError) -> OpenFolder {
        let descriptor = try kernel.openFolder(FileName(".."), in: child, followingLinks: false)
        let folder = try OpenFolder(descriptor, level.place, io)
        opened += 1
        guard FileIdentity(folder.status) == level.identity else {
            retired.append(folder)
            throw FileError(
                code: .busy, operation: "walk", path: child.place.shownPath(),
                remedy: "Somebody moved a folder of the tree meanwhile: try again.")
        }
        return folder
    }

    // MARK: Failure

    /// Delivers the error of a folder, or throws it.
    private func deliver(
        _ error: FileError, of raw: RawFolderEntry?, in level: Int, _ batch: inout [WalkedEntry]
    ) throws(FileError) {
        guard options.unreadableFolders == .deliver, let raw else { throw error }
        switch error.code {
        case .tooManyOpenFiles, .exhausted, .busy: throw error
        default: break
        }
        if levels[level].folder == nil, let child = levels[level + 1].folder {
            levels[level].folder = try reopen(levels[level], from: child)
        }
        guard let folder = levels[level].folder else { preconditionFailure("The lowest folder is open.") }
        batch.append(
            WalkedEntry(DirectoryEntry(raw, in: folder), .unreadable(error), depthOfRoot: depthOfRoot))
    }
}
