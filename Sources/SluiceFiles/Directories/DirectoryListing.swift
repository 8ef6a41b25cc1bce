internal import DequeModule

/// The entries of a directory, read a few hundred at a time. See ``FileIO/listing(of:)``.
public struct DirectoryListing: AsyncSequence, Sendable {
    /// The type of the entries.
    public typealias Element = DirectoryEntry

    private let open: @Sendable (FileIO) throws(FileError) -> OpenDirectory
    private let io: FileIO

    init(open: @escaping @Sendable (FileIO) throws(FileError) -> OpenDirectory, io: () -> FileIO) {
        self.open = open
        self.io = io()
    }

    /// Starts at the first entry. The directory is opened again.
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

        /// The least number of entries to read in one job, since some file systems return only a few per system call.
        private static var minimumPerBatch: Int { 256 }

        private static func read(_ directory: OpenDirectory) throws(FileError) -> [RawDirectoryEntry] {
            var entries: [RawDirectoryEntry] = []
            while entries.count < minimumPerBatch, try directory.io.kernel.readEntries(of: directory, into: &entries) {}
            return entries
        }
    }
}
