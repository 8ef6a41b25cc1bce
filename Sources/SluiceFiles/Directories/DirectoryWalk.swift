internal import DequeModule
internal import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// All that is below a directory, as a sequence, each directory before what is in it.
    ///
    ///     for try await item in files.walk(project) where item.kind == .file {
    ///         print(item.relativePath)
    ///     }
    ///
    ///     var options = WalkOptions()
    ///     options.entering = { $0.name != ".git" }
    ///     for try await item in files.walk(project, options: options) { … }
    ///
    /// It works relative to the descriptors of directories, so any depth and any name will do, and a directory that another process swaps for
    /// a symbolic link while it is walked is not followed. The directory itself does not come; if it is a symbolic link, that is
    /// followed.
    ///
    /// What is added, removed or renamed meanwhile may come or not. A directory that is gone when its turn comes is passed over. One
    /// that was moved elsewhere while the walk was deep in it ends the walk with ``FileError/Code/busy``.
    ///
    /// - Cost: one job for some hundred entries or 16 directories, whichever comes first. At most 16 directories on the way down are open
    ///   at the same time, 16 of the entries delivered last (longer while an entry is kept), and one for each link on the way; what is not
    ///   yet delivered of directories further up is kept in memory.
    /// - Cancellation: the next entry throws `CancellationError`. Leaving the loop early closes all directories on a worker.
    /// - Failure: a ``FileError``, which ends the sequence; see ``WalkOptions/unreadableDirectories``.
    public func walk(_ directory: URL, options: WalkOptions = .init()) -> DirectoryWalk {
        DirectoryWalk(io: self, options: options) { io throws(FileError) in
            try OpenDirectory.open(try Path.of(directory, for: "walk"), io, for: "walk")
        }
    }
}

extension DirectoryEntry {
    /// All that is below this directory: see ``FileIO/walk(_:options:)``. If it became a symbolic link, that is not followed.
    public func walk(options: WalkOptions = .init()) -> DirectoryWalk {
        DirectoryWalk(io: directory.io, options: options) { _ throws(FileError) in try openDirectory() }
    }
}

/// What is below a directory: see ``FileIO/walk(_:options:)``.
public struct DirectoryWalk: AsyncSequence, Sendable {
    /// Entries come one after the other.
    public typealias Element = WalkedEntry

    let io: FileIO
    let options: WalkOptions
    let open: @Sendable (FileIO) throws(FileError) -> OpenDirectory

    /// Starts at the top, with all directories opened again.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Gives one entry after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let walk: DirectoryWalk
        private let state = WalkStorage()
        private var batch = Deque<WalkedEntry>()
        private var isEnded = false

        fileprivate init(_ walk: DirectoryWalk) { self.walk = walk }

        /// The next entry, nil after the last.
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

/// Where a walk is between two jobs.
private final class WalkStorage: Sendable {
    private let state = Lock<TreeWalk?>(nil)

    /// The next entries; none at the end.
    func nextBatch(of walk: DirectoryWalk, _ cancellation: borrowing Cancellation) throws -> [WalkedEntry] {
        // Out of the lock and in again: one task at a time iterates, and the caller's closure runs in between.
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
