#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data {
    /// Writes a whole file atomically: the path gives the old file or the new one, never a part.
    ///
    ///     try await data.asyncWrite(to: url)
    ///     try await data.asyncWrite(to: url, options: .init(durability: .none, existing: .fail))
    ///
    /// One job on a thread of `files`, in this order: create a temporary file in the same directory, write, sync by level, rename,
    /// sync the directory by level. If any step fails, the temporary file is removed and the destination is as it was; only a
    /// failed sync of the directory, and with a chosen temporary name a failed close, come after the new file is in place. A file that is replaced hands on its mode. A symbolic
    /// link is replaced itself; a device, FIFO or socket is refused. See rename(2), fsync(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`, and nothing was touched. Once begun, it goes on to
    ///   its end. To save state in a task that is cancelled already, see ``FileIO/uninterrupted(_:)``.
    /// - Failure: a ``FileError``; `bytesWritten` counts into the temporary file, of which nothing remains.
    ///
    /// - Parameters:
    ///   - url: A file URL; its directory exists.
    ///   - options: Durability, what happens to an existing file, the temporary name, permissions.
    ///   - files: The engine to run on.
    ///   - progress: Receives the progress: see ``FileProgress``.
    public func asyncWrite(
        to url: URL, options: FileWriteOptions = .init(), using files: FileIO = .shared,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        options.existing.checkIsNotSkip(for: "Data.asyncWrite")
        let path = try Path.of(url, for: "write")
        try await files.run { [self, kernel = files.kernel] _ in
            try withUnsafeBytes { bytes in
                try kernel.replaceFile(
                    path, with: bytes, options, ProgressCounter(progress, totalBytes: Int64(bytes.count)))
            }
        }
    }
}
