internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// The default limit on the size of a whole-file read: 1 GiB.
    public static var defaultMaximumSize: Int { 1 << 30 }
}

extension Data {
    /// Reads a whole file.
    ///
    ///     let page = try await Data(asyncContentsOf: url, maximumSize: 16 << 20)
    ///     let index = try await Data(asyncContentsOf: other, options: .mappedIfSafe)
    ///
    /// The method reads until the end, whatever size the file reports, so it also reads files in /proc and /sys, files that grow
    /// during the read, and FIFOs. Memory is bounded by the bytes read. See open(2), read(2), fifo(7).
    ///
    /// The call is one job. A small file that is in the page cache may be read on the calling thread (see ``FileIO/Lane/inline``).
    /// A FIFO or terminal uses a thread only while it is opened, not while the call waits for its writers, and reports its progress
    /// only at the end. To map the file into memory instead of reading it, see ``FileReadOptions/mappedIfSafe``.
    ///
    /// - Cancellation: A queued or waiting call throws `CancellationError` immediately. A running read throws it between two
    ///   system calls.
    /// - Failure: A ``FileError``: ``FileError/Code/limitExceeded`` if the file has more than `maximumSize` bytes.
    public init(
        asyncContentsOf url: URL, options: FileReadOptions = [], maximumSize: Int = FileIO.defaultMaximumSize,
        using files: FileIO = .shared, progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        precondition(maximumSize >= 0, "The maximum size must not be negative; it is \(maximumSize).")
        let path = try Path.of(url, for: "read")
        try FileIO.checkCancellation()
        let contents: FileContents
        let mayMap = options.contains(.mappedIfSafe)
        if progress == nil, !mayMap, let inline = files.contentsInline(of: path, limit: maximumSize) {
            contents = inline
        } else {
            contents = try await files.run { [files] cancellation in
                try files.kernel.readFile(path, limit: maximumSize, mayMap: mayMap, files, cancellation, progress)
            }
        }
        switch contents {
        case .whole(let data): self = data
        case .mapped(let mapping): self = mapping.data
        case .waitedFor(let file):
            self = try await scoped {
                try await file.readWhenReady { try await $0.readToEnd(limit: maximumSize, after: &$1) }
            } finally: {
                try await file.close()
            }
            progress?(FileProgress(completedBytes: Int64(count), isFinished: true))
        }
    }
}

enum FileContents: Sendable {
    case whole(Data)
    case mapped(Mapping)
    /// A file that is waited for, such as a FIFO. It is open but hasn't been read.
    case waitedFor(OpenFile)
}

extension Kernel {
    /// Opens a file, reads it to its end and closes it, unless it must be waited for. Records for the inline lane whether it may
    /// open the next file in this directory.
    func readFile(
        _ path: String, limit: Int, mayMap: Bool, _ files: FileIO, _ cancellation: borrowing Cancellation,
        _ progress: (@Sendable (FileProgress) -> Void)?
    ) throws -> FileContents {
        let opened = try openWithoutWaiting(path, O_RDONLY, isBrief: true)
        let descriptor = opened.descriptor
        if !opened.status.isRegularFile { brief.keep(descriptor) }
        if opened.isWaitedFor { return .waitedFor(OpenFile(opened, files)) }
        if mayMap, let memory = mapIfSafe(descriptor, opened.status, limit: limit) {
            closeQuietly(descriptor)  // Only read from, so no write error can be lost.
            let counter = ProgressCounter(progress, totalBytes: Int64(memory.count))
            counter?.add(bytes: memory.count)
            counter?.finish()
            return .mapped(Mapping(memory, path, files))
        }
        let bytes: ReadBuffer
        let counter: ProgressCounter?
        do {
            files.inline.learn(path, descriptor, opened.status, self)
            // Only a hint for the first allocation.
            let size = opened.status.size
            counter = ProgressCounter(progress, totalBytes: size > 0 ? size : nil)
            bytes = try readToEnd(
                descriptor, limit: limit, expected: Int(clamping: max(0, size)), path, cancellation, counter)
        } catch {
            closeQuietly(descriptor)
            throw error
        }
        try close(descriptor, path)
        counter?.finish()
        return .whole(bytes.data())
    }
}
