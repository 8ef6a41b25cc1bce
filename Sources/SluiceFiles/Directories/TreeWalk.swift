internal import CSluiceFiles
internal import DequeModule

/// A walk through a tree: the way from its root down to the directory being read, as a list and not as a recursion.
///
/// Used by one job after the other, on whichever thread. Only the lowest directories stay open; one further up is read to its end,
/// closed, and opened again through ".." on the way back, if that still is the same directory.
final class TreeWalk: @unchecked Sendable {
    // No lock: its owner (WalkStorage, TreeCopy) gives it to one job at a time, and a lane's lock lies between two jobs.
    private var levels: [Level] = []
    /// Directories left, or far above, that entries of this batch may still hold: closed at the beginning of the next, where
    /// that takes no job of its own.
    private var retired: [OpenDirectory?] = []
    private var opened = 0
    private var identities: Set<FileIdentity> = []
    private var failure: FileError?

    private let options: WalkOptions
    private let depthOfRoot: Int
    private var kernel: Kernel { io.kernel }
    private let io: FileIO

    private struct Level {
        /// nil while it is closed to save descriptors.
        var directory: OpenDirectory?
        let place: DirectoryPlace
        let identity: FileIdentity
        /// Its own entry in the directory above; nil for the root.
        let entry: RawDirectoryEntry?
        /// Whether ".." does not lead back: entered by a symbolic link.
        let isByLink: Bool
        var pending = Deque<RawDirectoryEntry>()
        var isRead = false
        /// Why it was not read to its end; delivered after what could be read.
        var failure: FileError?
    }

    /// The directories on the way down that are open at the same time.
    static var maximumOpenDirectories: Int { 16 }
    /// The entries, and the directories that they hold open, of one batch.
    static var maximumPerBatch: Int { 512 }
    static var maximumDirectoriesPerBatch: Int { 16 }
    /// The links entered on one way down: MAXSYMLINKS of the kernel.
    static var maximumLinks: Int { 40 }

    init(root: OpenDirectory, options: WalkOptions) {
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
        while !levels.isEmpty, batch.count < Self.maximumPerBatch,
            opened < Self.maximumDirectoriesPerBatch || batch.isEmpty
        {
            try cancellation.check()
            // On the way up from the depth nothing is delivered, and each directory is opened again.
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

    /// Closes immediately what no other object holds.
    func close() {
        releaseRetired()
        for index in levels.indices { OpenDirectory.release(&levels[index].directory) }
        levels = []
    }

    private func releaseRetired() {
        for index in retired.indices { OpenDirectory.release(&retired[index]) }
        retired = []
    }

    // MARK: Steps

    /// Delivers one entry, reads on, or leaves a directory.
    private func step(_ batch: inout [WalkedEntry]) throws(FileError) {
        let last = levels.count - 1
        guard let raw = levels[last].pending.popFirst() else {
            if let error = levels[last].failure.take() {
                return try deliver(error, of: levels[last].entry, in: last - 1, &batch)
            }
            return levels[last].isRead ? try leave(&batch) : read(last)
        }
        guard let directory = levels[last].directory else { preconditionFailure("The lowest directory is open.") }
        let item = WalkedEntry(DirectoryEntry(raw, in: directory), .found, depthOfRoot: depthOfRoot)
        batch.append(item)
        guard mayBeDirectory(item.kind), item.depth < options.maximumDepth, options.entering?(item) != false else {
            return
        }
        do throws(FileError) {
            try enter(item, raw)
        } catch {
            try deliver(error, of: raw, in: last, &batch)
        }
    }

    private func mayBeDirectory(_ kind: FileStatus.Kind?) -> Bool {
        kind == .directory || kind == nil || (kind == .symbolicLink && options.followingLinks)
    }

    /// Reads the next entries. A failure comes after all entries that were read.
    private func read(_ index: Int) {
        guard let directory = levels[index].directory else {
            preconditionFailure("A closed directory was read to its end.")
        }
        var entries: [RawDirectoryEntry] = []
        do throws(FileError) {
            levels[index].isRead = try !kernel.readEntries(of: directory, into: &entries)
        } catch {
            levels[index].isRead = true
            levels[index].failure = error
        }
        levels[index].pending.append(contentsOf: entries)
    }

    private func enter(_ item: WalkedEntry, _ raw: RawDirectoryEntry) throws(FileError) {
        guard let (child, isByLink) = try open(item.entry) else { return }
        opened += 1
        let identity = FileIdentity(child.status)
        let isElsewhere = child.status.device != levels[0].identity.device
        if (isElsewhere && !options.crossingFileSystems) || identities.contains(identity) {
            return retired.append(child)
        }
        if isByLink, levels.count(where: \.isByLink) >= Self.maximumLinks {
            retired.append(child)
            throw FileError(operation: "walk", path: item.entry.shownPath, systemError: ELOOP)
        }
        push(child, entry: raw, isByLink: isByLink)
        closeFarDirectory()
    }

    /// Opens a directory itself, or what a link leads to where links are followed; nil for anything else.
    private func open(_ entry: DirectoryEntry) throws(FileError) -> (OpenDirectory, isByLink: Bool)? {
        for isByLink in options.followingLinks ? [false, true] : [false] {
            do throws(FileError) {
                return (try entry.openDirectory(followingLinks: isByLink), isByLink)
            } catch {
                switch error.systemError {
                // Gone, or no directory (any more); a link, a dangling one or a loop of them.
                case ENOENT, ENOTDIR, ELOOP: continue
                default: throw error
                }
            }
        }
        return nil
    }

    private func push(_ directory: OpenDirectory, entry: RawDirectoryEntry?, isByLink: Bool) {
        let identity = FileIdentity(directory.status)
        levels.append(
            Level(directory: directory, place: directory.place, identity: identity, entry: entry, isByLink: isByLink))
        if options.followingLinks { identities.insert(identity) }
    }

    /// Closes the directory that is too far above, unless the way back to it is by a link.
    private func closeFarDirectory() {
        let far = levels.count - 1 - Self.maximumOpenDirectories
        guard far >= 0, levels[far].directory != nil, !levels[far + 1].isByLink else { return }
        while !levels[far].isRead { read(far) }
        retired.append(levels[far].directory.take())
    }

    // MARK: The way back

    /// Goes up, and delivers the directory that was walked.
    private func leave(_ batch: inout [WalkedEntry]) throws(FileError) {
        let child = levels.removeLast()
        retired.append(child.directory)
        identities.remove(child.identity)
        guard let entry = child.entry, let directory = child.directory else { return }
        let above = levels.count - 1
        if levels[above].directory == nil { levels[above].directory = try reopen(levels[above], from: directory) }
        if options.leavingDirectories, let parent = levels[above].directory {
            batch.append(WalkedEntry(DirectoryEntry(entry, in: parent), .leaving, depthOfRoot: depthOfRoot))
        }
    }

    private func reopen(_ level: Level, from child: OpenDirectory) throws(FileError) -> OpenDirectory {
        let descriptor = try kernel.openDirectory(DirectoryEntry.Name(".."), in: child, followingLinks: false)
        let directory = try OpenDirectory(descriptor, level.place, io)
        opened += 1
        guard FileIdentity(directory.status) == level.identity else {
            retired.append(directory)
            throw FileError(
                code: .busy, operation: "walk", path: child.place.shownPath(),
                remedy: "Another process moved a directory of the tree meanwhile: try again.")
        }
        return directory
    }

    // MARK: Failure

    /// Delivers the error of a directory, or throws it.
    private func deliver(
        _ error: FileError, of raw: RawDirectoryEntry?, in level: Int, _ batch: inout [WalkedEntry]
    ) throws(FileError) {
        guard options.unreadableDirectories == .deliver, let raw else { throw error }
        switch error.code {
        case .tooManyOpenFiles, .exhausted, .busy: throw error
        default: break
        }
        if levels[level].directory == nil, let child = levels[level + 1].directory {
            levels[level].directory = try reopen(levels[level], from: child)
        }
        guard let directory = levels[level].directory else { preconditionFailure("The lowest directory is open.") }
        batch.append(
            WalkedEntry(DirectoryEntry(raw, in: directory), .unreadable(error), depthOfRoot: depthOfRoot))
    }
}
