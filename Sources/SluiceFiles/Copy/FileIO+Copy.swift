#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Copies a file, whole or not at all.
    ///
    ///     let result = try await files.copy(film, to: backup, options: .init(keeping: .allButOwner)) { progress in
    ///         bar.show(progress.fractionCompleted ?? 0)
    ///     }
    ///     print(result.bytes, result.method)
    ///
    /// The bytes go over in the fastest way that both file systems have: a clone that shares the blocks (Btrfs, XFS …), a
    /// copy within the kernel or the file server, or else reading and writing; the result says which. Holes stay holes.
    ///
    /// One job, in this order: create a temporary file in the destination's directory, copy, take over mode, times, attributes
    /// as asked, sync by level, rename, sync the directory by level. If any step fails, the temporary file is removed and the
    /// destination is as it was; only a failed sync of the directory comes after the copy is in place. See copy_file_range(2),
    /// rename(2).
    ///
    /// - The source is a regular file, whatever size it claims: those in /proc are copied whole. One that grows meanwhile is
    ///   copied up to the size that it had at the beginning. One that is otherwise changed meanwhile gives a copy of both.
    /// - A directory, FIFO, device or socket is refused, at either end and without opening it. So is a copy of a file to itself,
    ///   under whatever name: ``FileError/Code/sameFile``.
    /// - A symbolic link at the destination is replaced itself. One at the source is followed unless the options say not.
    ///
    /// - Cancellation: leaves the queue immediately, or stops between two pieces of at most 4 MiB, with `CancellationError`;
    ///   nothing is at the destination then that was not there before. Once renamed, the copy counts.
    /// - Failure: a ``FileError`` whose path says whether it was the source, the destination or its temporary file.
    ///
    /// - Parameters:
    ///   - source: A file URL.
    ///   - destination: A file URL; its directory exists.
    ///   - options: Durability, what happens to an existing file, what is kept of the original.
    ///   - progress: Receives the progress: see ``FileProgress``.
    /// - Returns: How many bytes were copied, and how.
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
