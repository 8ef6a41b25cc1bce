internal import DequeModule

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Returns the entries of a directory except "." and "..", in no particular order.
    ///
    /// The call is one job. A symbolic link to a directory is followed. An entry that is added or removed during the call may or may not
    /// be returned; every other entry is returned once. For a directory with millions of entries, use ``listing(of:)``. See getdents64(2).
    ///
    /// - Precondition: `maximumCount` isn't negative.
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running call throws it between system calls.
    /// - Failure: A ``FileError``: ``FileError/Code/notDirectory`` for a file, and ``FileError/Code/limitExceeded`` for more than
    ///   `maximumCount` entries.
    public func entries(of directory: URL, maximumCount: Int = 1_000_000) async throws -> [DirectoryEntry] {
        precondition(maximumCount >= 0, "The maximum count must not be negative; it is \(maximumCount).")
        let path = try Path.of(directory, for: "list")
        return try await run { [self] cancellation in
            try entries(of: OpenDirectory.open(path, self, for: "list"), limit: maximumCount, cancellation)
        }
    }

    /// Returns the entries of a directory as a sequence that reads a few hundred at a time, so memory is bounded.
    ///
    /// Each iteration opens the directory for its first entry and closes it after the last one. Leaving the loop early closes it
    /// on a worker. Entries that are added or removed during the iteration may or may not be returned. The loop may remove the
    /// entries that it receives.
    ///
    /// - Cancellation: The next entry throws `CancellationError`.
    /// - Failure: A ``FileError``, which ends the sequence.
    public func listing(of directory: URL) -> DirectoryListing {
        DirectoryListing(self) { io throws(FileError) in
            try OpenDirectory.open(try Path.of(directory, for: "list"), io, for: "list")
        }
    }
}

extension DirectoryEntry {
    /// Returns the entries of this directory. See ``FileIO/entries(of:maximumCount:)``. A symbolic link isn't followed.
    ///
    /// - Precondition: `maximumCount` isn't negative.
    public func entries(maximumCount: Int = 1_000_000) async throws -> [DirectoryEntry] {
        precondition(maximumCount >= 0, "The maximum count must not be negative; it is \(maximumCount).")
        return try await directory.io.run { [self] cancellation in
            try directory.io.entries(of: openDirectory(), limit: maximumCount, cancellation)
        }
    }

    /// Returns the entries of this directory as a sequence. See ``FileIO/listing(of:)``. A symbolic link isn't followed.
    public func listing() -> DirectoryListing {
        DirectoryListing(directory.io) { _ throws(FileError) in try openDirectory() }
    }

    func openDirectory(followsLinks: Bool = false) throws(FileError) -> OpenDirectory {
        let descriptor = try system.openDirectory(rawName, in: directory, followsLinks: followsLinks)
        return try OpenDirectory(descriptor, DirectoryPath(rawName, in: directory.path), directory.io)
    }
}

extension FileIO {
    fileprivate func entries(
        of directory: OpenDirectory, limit: Int, _ cancellation: borrowing Cancellation
    ) throws -> [DirectoryEntry] {
        var raw: [RawDirectoryEntry] = []
        while try system.readEntries(of: directory, into: &raw) {
            if raw.count > limit {
                throw FileError(
                    code: .limitExceeded, operation: "list", path: directory.path.shown(),
                    remedy: "Raise maximumCount, which is \(limit), or use a listing, which has no limit.")
            }
            try cancellation.check()
        }
        return raw.map { DirectoryEntry($0, in: directory) }
    }
}

/// The entries of a directory, read a few hundred at a time. See ``FileIO/listing(of:)``.
public struct DirectoryListing: AsyncSequence, Sendable {
    /// The type of the entries.
    public typealias Element = DirectoryEntry

    private let io: FileIO
    private let open: @Sendable (FileIO) throws(FileError) -> OpenDirectory

    init(_ io: FileIO, open: @escaping @Sendable (FileIO) throws(FileError) -> OpenDirectory) {
        self.io = io
        self.open = open
    }

    /// Starts at the first entry. The directory is reopened.
    public func makeAsyncIterator() -> Iterator { Iterator(state: .notOpened(self)) }

    /// An iterator over the entries.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate enum State {
            case notOpened(DirectoryListing)
            case open(OpenDirectory)
            case ended
        }

        fileprivate var state: State
        private var batch = Deque<DirectoryEntry>()

        fileprivate init(state: State) { self.state = state }

        /// Returns the next entry, or `nil` after the last one.
        public mutating func next() async throws -> DirectoryEntry? {
            if let entry = batch.popFirst() { return entry }
            let before = state
            state = .ended
            switch before {
            case .ended: return nil
            case .open(let directory):
                let entries = try await directory.io.run { _ in try Self.read(directory) }
                if !entries.isEmpty { take(entries, of: directory) }
            case .notOpened(let listing):
                let (directory, entries) = try await listing.io.run { _ in
                    let directory = try listing.open(listing.io)
                    return (directory, try Self.read(directory))
                }
                if !entries.isEmpty { take(entries, of: directory) }
            }
            return batch.popFirst()
        }

        private mutating func take(_ entries: [RawDirectoryEntry], of directory: OpenDirectory) {
            batch.append(contentsOf: entries.lazy.map { DirectoryEntry($0, in: directory) })
            state = .open(directory)
        }

        /// The minimum number of entries to read in one job, because some file systems return only a few per system call.
        private static var minimumPerBatch: Int { 256 }

        private static func read(_ directory: OpenDirectory) throws(FileError) -> [RawDirectoryEntry] {
            var entries: [RawDirectoryEntry] = []
            while entries.count < minimumPerBatch, try directory.io.system.readEntries(of: directory, into: &entries) {}
            return entries
        }
    }
}
