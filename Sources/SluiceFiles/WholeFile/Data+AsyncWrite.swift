#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data {
    /// Writes a whole file atomically: the path always leads to the complete old file or the complete new one.
    ///
    ///     try await data.asyncWrite(to: url)
    ///     try await data.asyncWrite(to: url, options: .init(durability: .none, existing: .fail))
    ///
    /// One job creates a temporary file in the same directory, writes and syncs it, renames it, and syncs the directory, as
    /// `durability` requires. If a step fails, the temporary file is removed and the destination is unchanged. Only two failures are
    /// reported after the new file is in place: a failed sync of the directory, and, with a chosen temporary name, a failed close.
    /// See rename(2), fsync(2).
    ///
    /// The directory must exist. The new file keeps the mode of the replaced one. A symbolic link at the destination is replaced, not
    /// followed. A device, FIFO or socket is refused.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and nothing is written. Once started, the write
    ///   completes. To save state in a task that is already cancelled, see ``FileIO/uninterrupted(_:)``.
    /// - Failure: A ``FileError``. Its `bytesWritten` counts bytes in the temporary file, which is removed.
    public func asyncWrite(
        to url: URL, options: FileWriteOptions = .init(), using files: FileIO = .shared,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        let path = try Path.of(url, for: "write")
        try await files.run { [self, kernel = files.kernel] _ in
            try withUnsafeBytes { bytes in
                try kernel.replaceFile(
                    path, with: bytes, options, ProgressCounter(progress, totalBytes: Int64(bytes.count)))
            }
        }
    }
}
