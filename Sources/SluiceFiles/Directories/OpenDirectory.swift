internal import CSluiceFiles
internal import Synchronization

/// A descriptor of a directory that its entries share, and that is closed exactly once.
///
/// Whoever lets go last has it closed on a lane.
final class OpenDirectory: Sendable {
    let io: FileIO
    let descriptor: CInt
    let place: DirectoryPlace
    /// What was found when it was opened: its identity above all.
    let status: RawStatus
    private let isClosed = Atomic(false)

    /// Owns the descriptor from here on, also when this throws.
    init(_ descriptor: CInt, _ place: DirectoryPlace, _ io: FileIO) throws(FileError) {
        let kernel = io.kernel
        var status = RawStatus()
        do {
            // The path only for an error: it is long in a deep tree.
            try kernel.check(kernel.calls.statusOfDescriptor(descriptor, &status), "look at", place.shownPath())
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
        // close(2) may block, and this thread may be one of the cooperative pool.
        io.runDetached { [kernel = io.kernel, descriptor] in kernel.closeQuietly(descriptor) }
    }

    /// Lets go, and closes immediately if no other object holds it: in jobs, where that saves one for the close.
    static func release(_ directory: inout OpenDirectory?) {
        if isKnownUniquelyReferenced(&directory), let last = directory,
            !last.isClosed.exchange(true, ordering: .acquiringAndReleasing)
        {
            last.io.kernel.closeQuietly(last.descriptor)
        }
        directory = nil
    }

    /// Opens a directory by its path.
    static func open(_ path: String, _ io: FileIO, for operation: String) throws(FileError) -> OpenDirectory {
        let descriptor = try io.kernel.open(path, O_RDONLY | O_DIRECTORY, for: operation)
        return try OpenDirectory(descriptor, DirectoryPlace(path: path), io)
    }
}
