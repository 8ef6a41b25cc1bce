#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Copies a file atomically: the destination has the whole copy, or is unchanged.
    ///
    ///     let result = try await files.copy(film, to: backup, options: .init(keeping: .allButOwner)) { progress in
    ///         bar.show(progress.fractionCompleted ?? 0)
    ///     }
    ///     print(result.bytes, result.method)
    ///
    /// The method uses the fastest way that both file systems support: a clone that shares blocks (Btrfs, XFS), a copy by the
    /// kernel or the file server, or reading and writing. Holes are preserved.
    ///
    /// One job creates a temporary file in the destination's directory, copies the contents and the attributes, syncs the file,
    /// renames it, and syncs the directory, as `durability` requires. If a step fails, the temporary file is removed and the
    /// destination is unchanged. Only a failed sync of the directory is reported after the copy is in place. See
    /// copy_file_range(2), rename(2).
    ///
    /// - The source must be a regular file. Files in /proc are copied completely although they report size 0. A file that grows
    ///   during the copy is copied up to its size at the start. Other concurrent changes may leave a mix of old and new contents.
    /// - A directory, FIFO, device or socket is refused at either end, without opening it. Copying a file to itself, under the
    ///   same or another name, throws ``FileError/Code/sameFile``.
    /// - The destination's directory must exist. A symbolic link at the destination is replaced, not followed.
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running copy throws it between two pieces of at
    ///   most 4 MiB, and the destination is unchanged. Once the copy has been renamed, the call returns its result.
    /// - Failure: A ``FileError``. Its subject is the source, the destination or the temporary file.
    @discardableResult
    public func copy(
        _ source: URL, to destination: URL, options: FileCopyOptions = .init(),
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws -> FileCopyResult {
        let from = try Path.of(source, for: "copy")
        let to = try Path.of(destination, for: "copy to")
        return try await run { [kernel] cancellation in
            try kernel.copyFile(from, to: to, options, progress, cancellation)
        }
    }
}
