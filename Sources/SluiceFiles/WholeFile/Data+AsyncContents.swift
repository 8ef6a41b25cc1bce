internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// The most that a whole-file read takes unless told otherwise: 1 GiB.
    public static var defaultReadLimit: Int { 1 << 30 }
}

extension Data {
    /// Reads a whole file.
    ///
    ///     let page = try await Data(asyncContentsOf: url, limit: 16 << 20)
    ///     let index = try await Data(asyncContentsOf: other, options: .mappedIfSafe)
    ///
    /// Reads until the end, whatever size the file claims: files in /proc and /sys, files that grow while they are read and
    /// FIFOs are read whole. Memory is bounded by what arrives. Opening, reading and closing are one job on a thread of
    /// `files`; the calling thread is never blocked. A FIFO or terminal takes that thread only to be opened: it is waited for
    /// without one, until its first writer has come and its last has gone. See open(2), read(2), fifo(7).
    ///
    /// - Cancellation: leaves the queue or the wait immediately, or stops between two reads, with `CancellationError`.
    /// - Failure: a ``FileError``, among them ``FileError/Code/limitExceeded`` when there is more than `limit`.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - options: Whether the file may be mapped instead of read.
    ///   - limit: The most bytes to accept, 1 GiB by default.
    ///   - files: The engine to run on.
    ///   - progress: Receives the progress: see ``FileProgress``. Of a FIFO or terminal it hears only the end.
    public init(
        asyncContentsOf url: URL, options: FileReadOptions = [], limit: Int = FileIO.defaultReadLimit,
        using files: FileIO = .shared, progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        precondition(limit >= 0, "A limit is not negative.")
        let path = try Path.of(url, for: "read")
        try FileIO.checkCancellation()
        let contents: FileContents
        let mayMap = options.contains(.mappedIfSafe)
        if progress == nil, !mayMap, let inline = files.contentsInline(of: path, limit: limit) {
            contents = inline
        } else {
            contents = try await files.run { [files] cancellation in
                try files.kernel.readFile(path, limit: limit, mayMap: mayMap, files, cancellation, progress)
            }
        }
        switch contents {
        case .whole(let data): self = data
        case .mapped(let mapping): self = mapping.data
        case .waitedFor(let file):
            self = try await scoped {
                try await file.readWhenReady { try await $0.readToEnd(limit: limit, after: &$1) }
            } finally: {
                try await file.close()
            }
            progress?(FileProgress(completedBytes: Int64(count), isFinished: true))
        }
    }
}

/// What became of a file that was opened to be read whole.
enum FileContents: Sendable {
    case whole(Data)
    case mapped(Mapping)
    /// A FIFO or its like, open and not read yet.
    case waitedFor(OpenFile)
}

extension Kernel {
    /// Opens, reads to the end and closes, unless the file must be waited for. Tells the inline lane if the next file in this directory may
    /// be one for it.
    func readFile(
        _ path: String, limit: Int, mayMap: Bool, _ files: FileIO, _ cancellation: borrowing Cancellation,
        _ progress: (@Sendable (FileProgress) -> Void)?
    ) throws -> FileContents {
        let opened = try openWithoutWaiting(path, O_RDONLY, isBrief: true)
        let descriptor = opened.descriptor
        if !opened.status.isRegularFile { brief.keep(descriptor) }
        if opened.isWaitedFor { return .waitedFor(OpenFile(opened, files)) }
        if mayMap, let memory = mapIfSafe(descriptor, opened.status, limit: limit) {
            closeQuietly(descriptor)  // Nothing was written to it.
            let counter = ProgressCounter(progress, totalBytes: Int64(memory.count))
            counter?.add(bytes: memory.count)
            counter?.finish()
            return .mapped(Mapping(memory, path, files))
        }
        let bytes: ReadBuffer
        let counter: ProgressCounter?
        do {
            files.inline.learn(path, descriptor, opened.status, self)
            // A hint for the first allocation, no more.
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
