internal import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A read-only memory mapping of a file. Bytes are read from the device when they are accessed, and aren't copied.
///
///     let count = try await url.withMappedFile { file in                 // unmaps on every path
///         try await file.prefetch(0..<8)
///         return file.bytes.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self)
///     }
///
/// Use a mapping for lookups in large files that seldom change: an index, a font, a model. The memory belongs to the page cache. All
/// processes that map the file share it, and the system takes it back when memory is short.
///
/// A mapping has risks that `read` doesn't have:
///
/// - **An access may block the thread** for as long as the device takes, and with it a thread of the cooperative pool.
///   ``prefetch(_:)`` reads a range on a thread that may block. Its pages stay in memory until the system takes them back. If that
///   isn't enough, or if the device is a network, read the file instead.
/// - **A file that is truncated while it's mapped kills the process.** An access after the new end raises SIGBUS, and so does a byte
///   that the device can't read. Map only files that no process truncates. Replacing the file atomically is harmless: the mapping
///   keeps the old file.
/// - **Bytes change while another process writes to the file.** A value that you checked may be different when you use it, so don't
///   parse untrusted files this way.
///
/// Only regular files can be mapped. Directories, FIFOs, devices and the files of /proc and /sys throw an error; read them instead.
/// The file is closed once it's mapped: a mapping needs no descriptor. See mmap(2).
///
/// The compiler doesn't let ``bytes``, a `RawSpan`, outlive the file. In Swift 6.3, a function that has used the `bytes` of a `let`
/// can't call ``close()`` on it either. Use the scoped form there, or drop the file: then a thread of the engine unmaps it.
public struct MappedFile: ~Copyable, Sendable {
    let mapping: Mapping

    /// Maps the whole file for reading.
    ///
    /// Prefer the scoped form, `URL.withMappedFile`. The call reads no byte, so it takes the same time for any size. An empty file has
    /// no bytes.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/isDirectory``, ``FileError/Code/notRegularFile``, and
    ///   ``FileError/Code/unsupported`` for files that can't be mapped.
    public init(contentsOf url: URL, using files: FileIO = .shared) async throws {
        let path = try Path.of(url, for: "open")
        mapping = try await files.run { _ in Mapping(try files.kernel.map(path), path, files) }
    }

    /// The path that the file was opened with.
    public var path: String { mapping.path }

    /// The size of the file in bytes when it was mapped.
    public var count: Int { mapping.memory.count }

    /// The bytes. Accessing one may block the thread: see ``prefetch(_:)``.
    public var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let memory = UnsafeRawBufferPointer(mapping.memory)
            return _overrideLifetime(RawSpan(_unsafeBytes: memory), borrowing: self)
        }
    }

    /// Unmaps the file now instead of some time after it's dropped.
    ///
    /// - Cancellation: Runs even if the task is cancelled, and doesn't throw `CancellationError`.
    /// - Failure: A ``FileError``. See munmap(2).
    public consuming func close() async throws {
        try await mapping.unmap()
    }
}

extension URL {
    /// Maps the file for reading, calls `body` with the mapping, and unmaps the file whether `body` returns or throws.
    ///
    ///     let magic = try await url.withMappedFile { $0.bytes.unsafeLoadUnaligned(as: UInt32.self) }
    ///
    /// - Cancellation: That of opening and of the operations in `body`. The file is unmapped even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening, mapping or unmapping, or the error of `body`.
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

/// The memory of one mapped file, unmapped once: by `unmap()`, or on a thread of the engine when the file and its jobs have dropped
/// the last reference.
final class Mapping: @unchecked Sendable {
    // No lock: all fields are immutable, nothing writes to the memory, and the atomic `isUnmapped` selects the one call that unmaps it.
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
        // On a thread of the engine: munmap(2) frees the page tables, which takes a while for gigabytes.
        nonisolated(unsafe) let memory = memory
        io.runDetached { [kernel = io.kernel, path] in try? kernel.unmap(memory, path) }
    }

    private func takeMemory() -> Bool { !isUnmapped.exchange(true, ordering: .acquiringAndReleasing) }

    /// The memory as data. It's unmapped some time after the last copy of the data is dropped.
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
