internal import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A file as memory: its bytes are read from the device when they are touched, and none are copied.
///
///     let count = try await url.withMappedFile { file in                 // unmaps on every path
///         try await file.prefetch(0..<8)
///         return file.bytes.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self)
///     }
///
/// For lookups in large files that change seldom: an index, a font, a model. Memory is the page cache's, shared by all
/// processes that map the file and given back when others need it.
///
/// What a mapping costs, and `read` does not:
///
/// - **A touch may block the thread**, for as long as the device takes, and on a thread of the cooperative pool that is a
///   thread less for all tasks. ``prefetch(_:)`` reads a range on a thread that may block; afterwards its pages are in
///   memory, until the system takes them back. Where that matters, or where the device is a network, read instead.
/// - **A file that is cut off while it is mapped kills the process**: a touch behind the new end is SIGBUS, as is one that
///   the device fails to answer. Map only files that no process truncates; atomic replacement is harmless, the mapping keeps the
///   old file.
/// - **A file that is written meanwhile changes under the reader.** What was checked may be different when it is used. Do
///   not parse untrusted files this way.
///
/// Only regular files are mapped. A directory, a FIFO, a device and the files of /proc and /sys are refused with an error; read
/// those. The file is closed once it is mapped, and needs no descriptor after that. See mmap(2).
///
/// The bytes are a `RawSpan`, which the compiler does not let outlive the file. Swift 6.3 goes further: a function that has
/// taken `bytes` of a `let` cannot call ``unmap()`` on it. The scoped form does; dropping the file does, too: it is then unmapped on a
/// worker.
public struct MappedFile: ~Copyable, Sendable {
    let mapping: Mapping

    /// Maps the whole file for reading.
    ///
    ///     let font = try await MappedFile(contentsOf: url)
    ///
    /// Prefer the scoped form, `URL.withMappedFile`. Reads nothing yet, so that the size does not matter; an empty file has
    /// no bytes.
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``: ``FileError/Code/isDirectory``, ``FileError/Code/notRegularFile``, and
    ///   ``FileError/Code/unsupported`` for files that cannot be mapped.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - files: The engine to run on.
    public init(contentsOf url: URL, using files: FileIO = .shared) async throws {
        let path = try Path.of(url, for: "open")
        mapping = try await files.run { _ in Mapping(try files.kernel.map(path), path, files) }
    }

    /// The path that the file was opened with.
    public var path: String { mapping.path }

    /// The number of bytes: the file's size when it was mapped.
    public var count: Int { mapping.memory.count }

    /// The bytes. Touching one may block the thread: see ``prefetch(_:)``.
    public var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let memory = UnsafeRawBufferPointer(mapping.memory)
            return _overrideLifetime(RawSpan(_unsafeBytes: memory), borrowing: self)
        }
    }

    /// Unmaps the file now instead of some time after it is dropped.
    ///
    /// - Cancellation: unmaps also when the task is cancelled, and does not throw `CancellationError`.
    /// - Failure: a ``FileError``. See munmap(2).
    public consuming func unmap() async throws {
        try await mapping.unmap()
    }
}

extension URL {
    /// Maps the file for reading, hands it to `body`, and unmaps it on every path.
    ///
    ///     let magic = try await url.withMappedFile { $0.bytes.unsafeLoadUnaligned(as: UInt32.self) }
    ///
    /// See ``MappedFile`` for what a mapping costs.
    ///
    /// - Cancellation: as in the operations; the file is unmapped also when the task is cancelled.
    /// - Failure: a ``FileError`` from opening, mapping or unmapping, or what `body` throws.
    public func withMappedFile<R>(
        using files: FileIO = .shared, _ body: (borrowing MappedFile) async throws -> R
    ) async throws -> R {
        let file = try await MappedFile(contentsOf: self, using: files)
        let mapping = file.mapping
        return try await scoped {
            try await body(file)
        } finally: {
            try await mapping.unmap()
        }
    }
}

/// Memory that belongs to one mapped file, and is unmapped exactly once.
///
/// The file and the jobs that run for it hold this. Whoever lets go last without having unmapped has it done on a lane.
final class Mapping: @unchecked Sendable {
    // Immutable, and nobody writes to the memory. `isUnmapped` says who unmaps it.
    let memory: UnsafeMutableRawBufferPointer
    let path: String
    let io: FileIO
    private let isUnmapped = Atomic(false)

    init(_ memory: UnsafeMutableRawBufferPointer, _ path: String, _ io: FileIO) {
        self.memory = memory
        self.path = path
        self.io = io
    }

    deinit {
        guard takeMemory() else { return }
        // munmap(2) frees the page tables, which takes a while for gigabytes.
        nonisolated(unsafe) let memory = memory
        io.runDetached { [kernel = io.kernel, path] in try? kernel.unmap(memory, path) }
    }

    /// Whether the caller unmaps the memory now.
    private func takeMemory() -> Bool { !isUnmapped.exchange(true, ordering: .acquiringAndReleasing) }

    /// The memory as data, which unmaps it some time after its last copy is gone.
    var data: Data {
        guard let start = memory.baseAddress else { return Data() }
        return Data(
            bytesNoCopy: start, count: memory.count, deallocator: .custom { [self] _, _ in extendLifetime(self) })
    }

    func unmap() async throws {
        try await io.run(mustRun: true) { [self] _ in
            if takeMemory() { try io.kernel.unmap(memory, path) }
        }
    }
}
