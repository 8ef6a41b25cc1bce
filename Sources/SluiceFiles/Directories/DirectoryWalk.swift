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
    ///   directories on the way down, the directories of up to 16 recent entries (longer if the caller keeps an entry), and one for
    ///   each link on the way. Entries of directories further up that haven't been returned are kept in memory.
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

    /// Starts at the top. All directories are opened again.
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
        // Taken out of the lock for the job, because the caller's closure runs meanwhile. Only one task iterates.
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
