internal import CSluiceFiles
internal import DequeModule
internal import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Returns all entries below a directory as a sequence. A directory comes before its contents.
    ///
    ///     var options = WalkOptions()
    ///     options.entering = { $0.name != ".git" }
    ///     for try await item in files.walk(project, options: options) where item.kind == .file {
    ///         print(item.relativePath)
    ///     }
    ///
    /// The walk works relative to the descriptors of directories, so it accepts any depth and any name. If another process
    /// replaces a directory with a symbolic link during the walk, the link isn't followed. The top directory isn't part of the
    /// sequence. If it is a symbolic link, it is followed.
    ///
    /// Entries that are added, removed or renamed during the walk may or may not be delivered. If a directory is moved while the
    /// walk is deep inside it, the walk ends with ``FileError/Code/busy``.
    ///
    /// - Resources: One job reads a few hundred entries or 16 directories, whichever comes first. The walk keeps open at most 16
    ///   directories on the way down, the directories of up to 16 recent entries (longer if you keep an entry), and one for each link on
    ///   the way. For directories further up, the entries that haven't been returned yet are kept in memory.
    /// - Cancellation: The next entry throws `CancellationError`. Leaving the loop early closes all directories on a worker.
    /// - Failure: A ``FileError``, which ends the sequence. See ``WalkOptions/unreadableDirectories``.
    public func walk(_ directory: URL, options: WalkOptions = .init()) -> DirectoryWalk {
        DirectoryWalk(io: self, options: options) { io throws(FileError) in
            try OpenDirectory.open(try Path.of(directory, for: "walk"), io, for: "walk")
        }
    }
}

extension DirectoryEntry {
    /// Returns all entries below this directory. See ``FileIO/walk(_:options:)``. A symbolic link isn't followed.
    public func walk(options: WalkOptions = .init()) -> DirectoryWalk {
        DirectoryWalk(io: directory.io, options: options) { _ throws(FileError) in try openDirectory() }
    }
}

/// The entries below a directory. See ``FileIO/walk(_:options:)``.
public struct DirectoryWalk: AsyncSequence, Sendable {
    /// The type of the entries.
    public typealias Element = WalkedEntry

    let io: FileIO
    let options: WalkOptions
    let open: @Sendable (FileIO) throws(FileError) -> OpenDirectory

    /// Starts at the top. All directories are reopened.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// An iterator over the entries.
    public struct Iterator: AsyncIteratorProtocol {
        private let walk: DirectoryWalk
        private let state = WalkStorage()
        private var batch = Deque<WalkedEntry>()
        private var isEnded = false

        fileprivate init(_ walk: DirectoryWalk) { self.walk = walk }

        /// Returns the next entry, or `nil` after the last one.
        public mutating func next() async throws -> WalkedEntry? {
            if let item = batch.popFirst() { return item }
            if isEnded { return nil }
            isEnded = true
            let items = try await walk.io.run { [walk, state] cancellation in
                try state.nextBatch(of: walk, cancellation)
            }
            isEnded = items.isEmpty
            batch = Deque(items)
            return batch.popFirst()
        }
    }
}

private final class WalkStorage: Sendable {
    private let state = Lock<TreeWalk?>(nil)

    func nextBatch(of walk: DirectoryWalk, _ cancellation: borrowing Cancellation) throws -> [WalkedEntry] {
        // Taken out of the lock for the job, because the caller's closure runs during it. Only one task iterates.
        let kept = state.withLock { state -> sending TreeWalk? in
            let kept = state
            state = nil
            return kept
        }
        let tree = try kept ?? TreeWalk(root: try walk.open(walk.io), options: walk.options)
        do {
            let batch = try tree.nextBatch(cancellation)
            if batch.isEmpty { tree.close() } else { state.withLock { $0 = tree } }
            return batch
        } catch {
            tree.close()
            throw error
        }
    }
}

/// Options for a walk through a tree. See ``FileIO/walk(_:options:)``.
public struct WalkOptions: Sendable {
    /// Whether symbolic links to directories are entered. The default is false, so a walk stays in its tree.
    ///
    /// If true, a directory that is reachable in two ways is walked twice. A link to a directory that the walk is already inside is
    /// delivered but not entered, so loops end. At most 40 links are entered on one path down, as in the kernel. A directory behind one
    /// more link is delivered as unreadable, with ``FileError/Code/tooManyLinks``.
    public var followsLinks = false

    /// Whether directories on other file systems (mount points) are entered. They are delivered either way.
    public var crossesFileSystems = true

    /// Whether a directory is delivered a second time, as ``WalkedEntry/Visit/leaving``, after its contents.
    public var leavingDirectories = false

    /// What happens when a directory can't be opened or read.
    public var unreadableDirectories = UnreadableDirectories.fail

    /// The depth of the deepest entries to deliver. With 1, only the entries of the directory itself are delivered,
    /// and with 0 or less, none.
    public var maximumDepth = Int.max

    /// A predicate that decides whether to enter a directory; `nil` enters all. The directory itself is delivered either way.
    ///
    /// The predicate is also called for entries of unknown kind and for symbolic links that are followed. It runs on a thread of the
    /// engine, before the loop receives the entry, and must not block.
    public var entering: (@Sendable (WalkedEntry) -> Bool)?

    /// What happens when a directory can't be opened or read, for example because of EACCES or a file server error.
    public enum UnreadableDirectories: Sendable, Hashable {
        /// The walk ends with the ``FileError``.
        case fail
        /// The directory is delivered, possibly a second time, as ``WalkedEntry/Visit/unreadable(_:)``, and the walk continues.
        ///
        /// The walk still ends if its topmost directory can't be read, or if the process runs out of descriptors or memory.
        case deliver
    }

    /// Creates options. By default all entries are delivered, links aren't followed, and an unreadable directory is an error.
    public init() {}
}

/// An entry that a walk delivers.
public struct WalkedEntry: Sendable, Hashable {
    /// Why an entry is delivered.
    public enum Visit: Sendable, Hashable {
        /// The walk found the entry. If it is a directory, its contents follow.
        case found
        /// The walk leaves this directory, after its contents. Delivered only with ``WalkOptions/leavingDirectories``.
        case leaving
        /// This directory couldn't be opened, or couldn't be read to its end.
        case unreadable(FileError)
    }

    /// The entry in its directory.
    public let entry: DirectoryEntry

    /// Why the entry is delivered.
    public let visit: Visit

    /// The depth of the entry: 1 for an entry of the walked directory, 2 for an entry of a directory inside it.
    public let depth: Int

    init(_ entry: DirectoryEntry, _ visit: Visit, depthOfRoot: Int) {
        self.entry = entry
        self.visit = visit
        depth = entry.directory.path.depth - depthOfRoot + 1
    }

    /// The names from the walked directory down to this entry, joined by slashes, as bytes. Computed on each access.
    public var rawRelativePath: [UInt8] { entry.directory.path.relativePath(of: entry.rawName, names: depth) }

    /// The relative path for display. Bytes that aren't UTF-8 appear as U+FFFD.
    public var relativePath: String { String(decoding: rawRelativePath, as: UTF8.self) }

    /// The name for display.
    public var name: String { entry.name }

    /// The kind of file according to the directory. See ``DirectoryEntry/kind``.
    public var kind: FileStatus.Kind? { entry.kind }
}

// MARK: - Walking

/// A walk through a tree: the directories from the root down to the one being read, as a list instead of on the call stack.
///
/// Successive jobs use it on different threads. Only the lowest directories stay open. A directory further up is read to the end, closed,
/// and reopened on the way back through "..", which must lead to the same directory.
final class TreeWalk: @unchecked Sendable {
    // No lock: the owner (WalkStorage, TreeCopy) gives it to one job at a time, and a lane's lock is taken between jobs.
    private var levels: [Level] = []
    /// Directories that the walk has left or that are far above. Entries in this batch may hold them, so they are closed at the start of
    /// the next batch, which saves a job for each.
    private var retired: [OpenDirectory?] = []
    private var opened = 0
    private var identities: Set<FileIdentity> = []
    private var failure: FileError?

    private let options: WalkOptions
    private let depthOfRoot: Int
    private var system: SystemInterface { io.system }
    private let io: FileIO

    private struct Level {
        /// `nil` while it is closed to save descriptors.
        var directory: OpenDirectory?
        let path: DirectoryPath
        let identity: FileIdentity
        /// The entry of this directory in the one above, or `nil` for the root.
        let entry: RawDirectoryEntry?
        /// Whether the directory was entered through a symbolic link, so that ".." doesn't lead back.
        let isByLink: Bool
        var pending = Deque<RawDirectoryEntry>()
        var isRead = false
        /// The error that ended reading. It is delivered after the entries that were read.
        var failure: FileError?
    }

    static var maximumOpenDirectories: Int { 16 }
    static var maximumPerBatch: Int { 512 }
    static var maximumDirectoriesPerBatch: Int { 16 }
    /// The largest number of links to enter on one path down, like the kernel's MAXSYMLINKS.
    static var maximumLinks: Int { 40 }

    init(root: OpenDirectory, options: WalkOptions) {
        self.options = options
        io = root.io
        depthOfRoot = root.path.depth
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
            // Climbing out of a deep directory delivers nothing, and reopens each directory on the way.
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
        kind == .directory || kind == nil || (kind == .symbolicLink && options.followsLinks)
    }

    /// Reads the next entries. An error is delivered later, after the entries that were read before it.
    private func read(_ index: Int) {
        guard let directory = levels[index].directory else {
            preconditionFailure("A directory must be read to its end before it is closed.")
        }
        var entries: [RawDirectoryEntry] = []
        do throws(FileError) {
            levels[index].isRead = try !system.readEntries(of: directory, into: &entries)
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
        if (isElsewhere && !options.crossesFileSystems) || identities.contains(identity) {
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
        for isByLink in options.followsLinks ? [false, true] : [false] {
            do throws(FileError) {
                return (try entry.openDirectory(followsLinks: isByLink), isByLink)
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
            Level(directory: directory, path: directory.path, identity: identity, entry: entry, isByLink: isByLink))
        if options.followsLinks { identities.insert(identity) }
    }

    /// Closes the directory that is `maximumOpenDirectories` levels up, unless the walk left it through a link.
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
        let descriptor = try system.openDirectory(DirectoryEntry.Name(".."), in: child, followsLinks: false)
        let directory = try OpenDirectory(descriptor, level.path, io)
        opened += 1
        guard FileIdentity(directory.status) == level.identity else {
            retired.append(directory)
            throw FileError(
                code: .busy, operation: "walk", path: child.path.shown(),
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
