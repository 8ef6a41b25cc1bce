internal import CSluiceFiles
internal import Synchronization

/// The descriptor of a directory, shared by its entries and closed once: on a lane, when the last reference is dropped.
final class OpenDirectory: Sendable {
    let io: FileIO
    let descriptor: CInt
    let place: DirectoryPlace
    let status: RawStatus
    private let isClosed = Atomic(false)

    /// Takes ownership of the descriptor, even if it throws.
    init(_ descriptor: CInt, _ place: DirectoryPlace, _ io: FileIO) throws(FileError) {
        let kernel = io.kernel
        var status = RawStatus()
        do {
            // The path is computed only for an error, because it is long in a deep tree.
            try kernel.check(
                kernel.calls.statusOfDescriptor(descriptor, &status), "read the status of", place.shownPath())
        } catch {
            kernel.closeQuietly(descriptor)
            throw error
        }
        self.status = status
        self.io = io
        self.descriptor = descriptor
        self.place = place
    }

    deinit {
        if isClosed.load(ordering: .relaxed) { return }
        // close(2) may block, and this may be a thread of the cooperative pool.
        io.runDetached { [kernel = io.kernel, descriptor] in kernel.closeQuietly(descriptor) }
    }

    /// Drops a reference. If it was the last one, closes the descriptor on this thread. A job calls this to avoid another job for
    /// closing.
    static func release(_ directory: inout OpenDirectory?) {
        if isKnownUniquelyReferenced(&directory), let last = directory,
            !last.isClosed.exchange(true, ordering: .acquiringAndReleasing)
        {
            last.io.kernel.closeQuietly(last.descriptor)
        }
        directory = nil
    }

    static func open(
        _ path: String, _ io: FileIO, toSearch: Bool = false, for operation: String
    ) throws(FileError) -> OpenDirectory {
        let access = toSearch ? csluice_open_to_search : O_RDONLY
        let descriptor = try io.kernel.open(path, access | O_DIRECTORY, for: operation)
        return try OpenDirectory(descriptor, DirectoryPlace(path: path), io)
    }
}
