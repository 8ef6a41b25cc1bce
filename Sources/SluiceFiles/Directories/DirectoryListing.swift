internal import DequeModule

/// The entries of a folder, some hundred read at a time: see ``FileIO/listing(of:)``.
public struct DirectoryListing: AsyncSequence, Sendable {
    /// Entries come one after the other.
    public typealias Element = DirectoryEntry

    private let open: @Sendable (FileIO) throws(FileError) -> OpenFolder
    private let io: FileIO

    init(open: @escaping @Sendable (FileIO) throws(FileError) -> OpenFolder, io: () -> FileIO) {
        self.open = open
        self.io = io()
    }

    /// Starts at the first entry, with the folder opened anew.
    public func makeAsyncIterator() -> Iterator { Iterator(state: .notOpened(self)) }

    /// Gives one entry after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate enum State {
            case notOpened(DirectoryListing)
            case open(OpenFolder)
            case ended
        }

        fileprivate var state: State
        private var batch = Deque<DirectoryEntry>()

        fileprivate init(state: State) { self.state = state }

        /// The next entry, nil after the last.
        public mutating func next() async throws -> DirectoryEntry? {
            if let entry = batch.popFirst() { return entry }
            let before = state
            state = .ended
            switch before {
            case .ended: return nil
            case .open(let folder):
                let entries = try await folder.io.run { _ in try Self.read(folder) }
                if !entries.isEmpty { take(entries, of: folder) }
            case .notOpened(let listing):
                let (folder, entries) = try await listing.io.run { _ in
                    let folder = try listing.open(listing.io)
                    return (folder, try Self.read(folder))
                }
                if !entries.isEmpty { take(entries, of: folder) }
            }
            return batch.popFirst()
        }

        private mutating func take(_ entries: [RawFolderEntry], of folder: OpenFolder) {
            batch.append(contentsOf: entries.lazy.map { DirectoryEntry($0, in: folder) })
            state = .open(folder)
        }

        /// The entries that one job reads at least: some file systems give only a few per system call.
        private static var leastPerBatch: Int { 256 }

        private static func read(_ folder: OpenFolder) throws(FileError) -> [RawFolderEntry] {
            var entries: [RawFolderEntry] = []
            while entries.count < leastPerBatch, try folder.io.kernel.readEntries(of: folder, into: &entries) {}
            return entries
        }
    }
}
