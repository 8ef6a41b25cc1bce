internal import CSluiceFiles
internal import DequeModule

/// A walk through a tree: the directories from the root down to the one being read, as a list instead of a recursion.
///
/// Consecutive jobs use it on different threads. Only the lowest directories stay open. A directory further up is read to its end,
/// closed, and on the way back opened again through "..", which must lead to the same directory.
final class TreeWalk: @unchecked Sendable {
    // No lock: the owner (WalkStorage, TreeCopy) gives it to one job at a time, and a lane's lock is taken between two jobs.
    private var levels: [Level] = []
    /// Directories that the walk has left or that are far above. Entries of this batch may hold them, so they are closed at the start
    /// of the next batch. That saves a job for each.
    private var retired: [OpenDirectory?] = []
    private var opened = 0
    private var identities: Set<FileIdentity> = []
    private var failure: FileError?

    private let options: WalkOptions
    private let depthOfRoot: Int
    private var kernel: Kernel { io.kernel }
    private let io: FileIO

    private struct Level {
        /// `nil` while it is closed to save descriptors.
        var directory: OpenDirectory?
        let place: DirectoryPlace
        let identity: FileIdentity
        /// The entry of this directory in the one above, or `nil` for the root.
        let entry: RawDirectoryEntry?
        /// Whether the directory was entered by a symbolic link, so that ".." doesn't lead back.
        let isByLink: Bool
        var pending = Deque<RawDirectoryEntry>()
        var isRead = false
        /// The error that ended the reading. It is delivered after the entries that were read.
        var failure: FileError?
    }

    static var maximumOpenDirectories: Int { 16 }
    static var maximumPerBatch: Int { 512 }
    static var maximumDirectoriesPerBatch: Int { 16 }
    /// The largest number of links entered on one way down, as MAXSYMLINKS of the kernel.
    static var maximumLinks: Int { 40 }

    init(root: OpenDirectory, options: WalkOptions) {
        self.options = options
        io = root.io
        depthOfRoot = root.place.depth
        if options.maximumDepth < 1 { retired.append(root) } else { push(root, entry: nil, isByLink: false) }
    }

    /// Returns the next entries, or an empty array at the end. Entries that were found before a failure are returned first.
    func nextBatch(_ cancellation: borrowing Cancellation) throws -> [WalkedEntry] {
        releaseRetired()
        opened = 0
        if let failure { throw failure }
        var batch: [WalkedEntry] = []
        while !levels.isEmpty, batch.count < Self.maximumPerBatch,
            opened < Self.maximumDirectoriesPerBatch || batch.isEmpty
        {
            try cancellation.check()
            // The way up from a deep directory delivers nothing, and opens each directory again.
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

    private func step(_ batch: inout [WalkedEntry]) throws(FileError) {
        let last = levels.count - 1
        guard let raw = levels[last].pending.popFirst() else {
            if let error = levels[last].failure.take() {
                return try deliver(error, of: levels[last].entry, in: last - 1, &batch)
            }
            return levels[last].isRead ? try leave(&batch) : read(last)
        }
        guard let directory = levels[last].directory else { preconditionFailure("The lowest directory must be open.") }
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

    /// Reads the next entries. An error is delivered later, after the entries that were read before it.
    private func read(_ index: Int) {
        guard let directory = levels[index].directory else {
            preconditionFailure("A directory must be read to its end before it is closed.")
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

    /// Opens a directory, or if links are followed, the directory that a link points to. Returns `nil` for anything else.
    private func open(_ entry: DirectoryEntry) throws(FileError) -> (OpenDirectory, isByLink: Bool)? {
        for isByLink in options.followingLinks ? [false, true] : [false] {
            do throws(FileError) {
                return (try entry.openDirectory(followingLinks: isByLink), isByLink)
            } catch {
                switch error.systemError {
                // The entry is gone, isn't a directory (any more), or is a link, possibly dangling or part of a loop.
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

    /// Closes the directory that is `maximumOpenDirectories` above, unless the walk left it by a link.
    private func closeFarDirectory() {
        let far = levels.count - 1 - Self.maximumOpenDirectories
        guard far >= 0, levels[far].directory != nil, !levels[far + 1].isByLink else { return }
        while !levels[far].isRead { read(far) }
        retired.append(levels[far].directory.take())
    }

    // MARK: The way back

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
                remedy: "Try again, because another process moved a directory of the tree.")
        }
        return directory
    }

    // MARK: Failure

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
        guard let directory = levels[level].directory else { preconditionFailure("The lowest directory must be open.") }
        batch.append(
            WalkedEntry(DirectoryEntry(raw, in: directory), .unreadable(error), depthOfRoot: depthOfRoot))
    }
}
