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
    /// `io`; the calling thread is never blocked. See open(2), read(2).
    ///
    /// - Cancellation: leaves the queue at once, or stops between two reads, with `CancellationError`.
    /// - Failure: a ``FileError``, among them ``FileError/Code/limitExceeded`` when there is more than `limit`.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - limit: The most bytes to accept, 1 GiB by default.
    ///   - io: The engine to run on.
    public init(
        asyncContentsOf url: URL, limit: Int = FileIO.defaultReadLimit, using io: FileIO = .shared
    ) async throws {
        precondition(limit >= 0, "A limit is not negative.")
        let path = try Path.of(url, for: "read")
        try Task.checkCancellation()
        if let data = io.contentsInline(of: path, limit: limit) {
            self = data
            return
        }
        self = try await io.run { [kernel = io.kernel, inline = io.inline] cancellation in
            try kernel.readFile(path, limit: limit, inline, cancellation)
        }
    }
}

extension Kernel {
    /// Opens, reads to the end and closes. Tells the inline lane if the next file in this folder may be one for it.
    func readFile(
        _ path: String, limit: Int, _ inline: InlineLane, _ cancellation: borrowing Cancellation
    ) throws -> Data {
        let descriptor = try open(path, O_RDONLY, for: "open", isBrief: true)
        let bytes: ReadBuffer
        do {
            // A hint for the first allocation, no more.
            let status = try status(ofDescriptor: descriptor, path)
            if !status.isRegularFile { brief.keep(descriptor) }
            inline.learn(path, descriptor, status, self)
            let size = status.size
            bytes = try readToEnd(descriptor, limit: limit, expected: Int(clamping: max(0, size)), path, cancellation)
        } catch {
            closeQuietly(descriptor)
            throw error
        }
        try close(descriptor, path)
        return bytes.data()
    }
}
