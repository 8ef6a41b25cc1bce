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
    ///
    /// Reads until the end, whatever size the file claims: files in /proc and /sys, files that grow while they are read and
    /// FIFOs are read whole. Memory is bounded by what arrives. Opening, reading and closing are one job on a thread of
    /// `io`; the calling thread is never blocked. A FIFO or terminal takes that thread only to be opened: it is waited for
    /// without one, until its first writer has come and its last has gone. See open(2), read(2), fifo(7).
    ///
    /// - Cancellation: leaves the queue or the wait at once, or stops between two reads, with `CancellationError`.
    /// - Failure: a ``FileError``, among them ``FileError/Code/limitExceeded`` when there is more than `limit`.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - limit: The most bytes to accept, 1 GiB by default.
    ///   - io: The engine to run on.
    ///   - progress: Told how far it is: see ``FileProgress``. Of a FIFO or terminal it hears only the end.
    public init(
        asyncContentsOf url: URL, limit: Int = FileIO.defaultReadLimit, using io: FileIO = .shared,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        precondition(limit >= 0, "A limit is not negative.")
        let path = try Path.of(url, for: "read")
        try Task.checkCancellation()
        let contents: FileContents
        if progress == nil, let inline = io.contentsInline(of: path, limit: limit) {
            contents = inline
        } else {
            contents = try await io.run { [io] cancellation in
                try io.kernel.readFile(path, limit: limit, io, cancellation, progress)
            }
        }
        switch contents {
        case .whole(let data): self = data
        case .waitedFor(let file):
            self = try await scoped {
                try await file.readWhenReady { try await $0.readToEnd(limit: limit, after: &$1) }
            } finally: {
                try await file.close()
            }
            progress?(FileProgress(completedBytes: count, isFinished: true))
        }
    }
}

/// What became of a file that was opened to be read whole.
enum FileContents: Sendable {
    case whole(Data)
    /// A FIFO or its like, open and not read yet.
    case waitedFor(OpenFile)
}

extension Kernel {
    /// Opens, reads to the end and closes, unless it is to be waited for. Tells the inline lane if the next file in this folder may
    /// be one for it.
    func readFile(
        _ path: String, limit: Int, _ io: FileIO, _ cancellation: borrowing Cancellation,
        _ progress: (@Sendable (FileProgress) -> Void)?
    ) throws -> FileContents {
        let opened = try openWithoutWaiting(path, O_RDONLY, isBrief: true)
        let descriptor = opened.descriptor
        if !opened.status.isRegularFile { brief.keep(descriptor) }
        if opened.isWaitedFor { return .waitedFor(OpenFile(opened, io)) }
        let bytes: ReadBuffer
        let counter: ProgressCounter?
        do {
            io.inline.learn(path, descriptor, opened.status, self)
            // A hint for the first allocation, no more.
            let size = opened.status.size
            counter = ProgressCounter(progress, totalBytes: size > 0 ? Int(clamping: size) : nil)
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
