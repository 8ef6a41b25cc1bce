internal import CSluiceFiles
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
/// Use a mapping for lookups in large files that rarely change: an index, a font, a model. The memory belongs to the page cache. All
/// processes that map the file share it, and the system reclaims it when memory is short.
///
/// A mapping has risks that `read` doesn't have:
///
/// - **An access may block the thread**, which may belong to the cooperative pool, for as long as the device takes. ``prefetch(_:)`` reads
///   a range on a thread that may block. Its pages stay in memory until the system reclaims them. If that isn't enough, or if the device is
///   a network, read the file instead.
/// - **A file that is truncated while it's mapped kills the process.** An access past the new end raises SIGBUS, and so does a byte that
///   the device can't read. Map only files that no process truncates. Replacing the file atomically is harmless: the mapping keeps the old
///   file.
/// - **Bytes change while another process writes to the file.** A value that you checked may be different when you use it, so don't
///   parse untrusted files this way.
///
/// An offset or range outside the file traps. Compare numbers from the file with ``count`` before you use them.
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
    /// Prefer the scoped form, `URL.withMappedFile`. The call doesn't read any bytes, so it takes the same time for any size. An empty file
    /// has no bytes.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/isDirectory``, ``FileError/Code/notRegularFile``, and
    ///   ``FileError/Code/unsupported`` for files that can't be mapped.
    public init(contentsOf url: URL, using files: FileIO = .shared) async throws {
        let path = try Path.of(url, for: "open")
        mapping = try await files.run { _ in Mapping(try files.system.map(path), path, files) }
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
    /// - Cancellation: Same as for opening the file and for the operations in `body`. The file is unmapped even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening, mapping or unmapping, or an error from `body`.
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

// MARK: - Prefetching and advice

extension MappedFile {
    /// Reads a range, or the whole file, into memory, so that accessing it soon afterwards doesn't block.
    ///
    /// The call returns when the pages are in memory. The system may reclaim them at any time. On Linux 5.14 and later, the call uses
    /// madvise(2) with MADV_POPULATE_READ. Elsewhere a thread of the engine reads a byte of each page, and if the file was truncated, that
    /// kills the process (see ``MappedFile``) instead of throwing an error.
    ///
    /// - Precondition: The range is within `0..<count`.
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running call throws it between steps of 32 MiB.
    /// - Failure: A ``FileError``: ``FileError/Code/inputOutput`` if the file was truncated or its device fails.
    public borrowing func prefetch(_ range: Range<Int>? = nil) async throws {
        let range = checked(range)
        try await mapping.io.run { [mapping] cancellation in
            let system = mapping.io.system
            var rest = UnsafeMutableRawBufferPointer(rebasing: mapping.memory[range])
            while !rest.isEmpty {
                try cancellation.check()
                let step = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(32 << 20))
                try system.prefetch(step, mapping.path)
                rest = UnsafeMutableRawBufferPointer(rebasing: rest.dropFirst(step.count))
            }
        }
    }

    /// Tells the system how the program will use a range, or the whole file. The advice applies to whole pages of this mapping.
    ///
    /// - Precondition: The range is within `0..<count`.
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. A hint that the system ignores isn't an error. See madvise(2).
    public borrowing func advise(_ advice: AccessAdvice, for range: Range<Int>? = nil) async throws {
        let range = checked(range)
        if range.isEmpty { return }
        try await mapping.io.run { [mapping] _ in
            let system = mapping.io.system
            let (memory, calls) = (mapping.memory[range], system.calls.randomAccess)
            guard let start = UnsafeMutableRawBufferPointer(rebasing: memory).baseAddress else { return }
            try system.check(
                system.retrying { calls.adviseMemory(start, memory.count, advice) }, "advise the system about",
                mapping.path)
        }
    }

    private borrowing func checked(_ range: Range<Int>?) -> Range<Int> {
        let range = range ?? 0..<count
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count,
            "The range must be within the file's \(count) bytes; it is \(range).")
        return range
    }
}

// MARK: - Memory

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
        io.runDetached { [system = io.system, path] in try? system.unmap(memory, path) }
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
            if takeMemory() { try io.system.unmap(memory, path) }
        }
    }
}

// MARK: - System calls

extension SystemInterface {
    /// Opens a file, maps it for reading and closes it. Never waits for another process: a FIFO is refused.
    func map(_ path: String) throws(FileError) -> UnsafeMutableRawBufferPointer {
        let opened = try openSeekable(path, O_RDONLY)
        let (descriptor, status) = (opened.descriptor, opened.status)
        defer { closeQuietly(descriptor) }  // Nothing was written, so close has no error to report.
        guard status.isRegularFile else {
            throw FileError(
                code: .notRegularFile, operation: "map", path: path,
                remedy: "Open it for reading instead, because only a regular file can be mapped.")
        }
        guard status.size > 0 else {
            // An empty file, or a kernel file, which reports a size of 0 but has bytes. Reading a byte to find out could block, or take the
            // byte from another reader. One page of an ordinary file can be mapped even if it is empty; a page of a kernel file can't.
            try unmap(try map(descriptor, 1, path), path)
            return UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
        guard let size = Int(exactly: status.size) else {
            throw FileError(operation: "map", path: path, systemError: EOVERFLOW)
        }
        return try map(descriptor, size, path)
    }

    private func map(
        _ descriptor: CInt, _ count: Int, _ path: String
    ) throws(FileError) -> UnsafeMutableRawBufferPointer {
        var address: UnsafeMutableRawPointer?
        let result = calls.randomAccess.map(descriptor, count, false, &address)
        // ENODEV, or EIO in some directories of /proc.
        if result == -ENODEV || (result == -EIO && count == 1) {
            throw FileError(
                code: .unsupported, operation: "map", path: path, systemError: -result,
                remedy: "Read the file instead, because its file system can't map it.")
        }
        try check(result, "map", path)
        return UnsafeMutableRawBufferPointer(start: address, count: count)
    }

    /// Privately maps an open file (changes to the memory stay in this process) if that is safe. Otherwise returns `nil`.
    func mapIfSafe(
        _ descriptor: CInt, _ status: RawStatus, limit: Int
    ) -> UnsafeMutableRawBufferPointer? {
        guard status.isRegularFile, status.size > 0, let size = Int(exactly: status.size), size <= limit,
            calls.inline.isLocal(descriptor) == 1
        else { return nil }
        var address: UnsafeMutableRawPointer?
        guard calls.randomAccess.map(descriptor, size, true, &address) >= 0 else { return nil }
        return UnsafeMutableRawBufferPointer(start: address, count: size)
    }

    func unmap(_ memory: UnsafeMutableRawBufferPointer, _ path: String) throws(FileError) {
        guard let start = memory.baseAddress else { return }
        try check(calls.randomAccess.unmap(start, memory.count), "unmap", path)
    }

    /// Waits until the pages of a range are in memory and in the page tables.
    func prefetch(_ memory: UnsafeMutableRawBufferPointer, _ path: String) throws(FileError) {
        guard let start = memory.baseAddress else { return }
        let calls = calls.randomAccess
        let result = retrying { calls.populate(start, memory.count) }
        switch result {
        case -EINVAL, -ENOSYS:
            _ = calls.touch(start, memory.count)
        case -EFAULT:
            throw FileError(
                code: .inputOutput, operation: "prefetch", path: path, systemError: EFAULT,
                remedy: "Map it again, because the file has become shorter or its device failed.")
        default: try check(result, "prefetch", path)
        }
    }
}
