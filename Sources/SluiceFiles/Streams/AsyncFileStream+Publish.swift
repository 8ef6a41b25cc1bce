#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == WriteMode {
    /// Gives the file its final name and closes it.
    ///
    ///     let part = try await partURL.openForWriting(lock: .exclusive)
    ///     try await part.write(song)
    ///     // … verified …
    ///     try await part.publish(as: songURL, existing: .fail, durability: .full)
    ///
    /// One job, in this order: sync the file by level, rename it, sync the folder by level, close. A lock is held until the
    /// rename is done. See fsync(2), rename(2).
    ///
    /// - Cancellation: throws `CancellationError` if the job has not begun; the file is closed and keeps its old name. Once
    ///   begun, it goes on to its end.
    /// - Failure: a ``FileError``; the file is closed. Until the rename it keeps its old name. An error that names the sync
    ///   of the folder or the close comes after the rename.
    ///
    /// - Parameters:
    ///   - destination: A file URL on the same file system.
    ///   - existing: Whether a file there is replaced, or is an error.
    ///   - durability: What is promised after a power cut.
    public consuming func publish(
        as destination: URL, existing: ExistingFile = .replace, durability: Durability = .full
    ) async throws {
        let file = file
        let final = try Path.of(destination, for: "publish as")
        do {
            try await file.io.run { _ in
                let kernel = file.io.kernel
                try kernel.sync(file.descriptor, durability, file.path)
                try kernel.rename(file.path, to: final, existing: existing)
                if durability == .fullAndDirectory {
                    try kernel.syncFolder(of: final)
                    if Path.folder(of: final) != Path.folder(of: file.path) { try kernel.syncFolder(of: file.path) }
                }
                if file.takeDescriptor() { try kernel.close(file.descriptor, final) }
            }
        } catch {
            // What failed first is what the caller hears of.
            try? await file.close()
            throw error
        }
    }

    /// Removes the file and closes it: what becomes of a partial file that nobody wants.
    ///
    /// One job. The path is removed only if it still leads to this file: what others put there since then stays.
    ///
    /// - Cancellation: removes and closes also when the task is cancelled.
    /// - Failure: a ``FileError``; the file is closed all the same.
    public consuming func discard() async throws {
        let file = file
        try await file.io.run(mustRun: true) { _ in
            let kernel = file.io.kernel
            defer { if file.takeDescriptor() { kernel.closeQuietly(file.descriptor) } }
            let found = try kernel.status(of: file.path, followingLinks: false)
            if found?.isSameFile(as: file.status) == true { try kernel.unlink(file.path) }
        }
    }
}
