#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AsyncFileStream where Mode == WriteMode {
    /// Gives the file its final name and closes it.
    ///
    ///     let part = try await partURL.openForWriting(locked: true)
    ///     try await part.write(data)
    ///     // … verified …
    ///     try await part.publish(as: songURL, durability: .full)
    ///
    /// One job, in this order: give the file the mode of the one that it replaces, sync it by level, look whether its path
    /// still leads to it, rename it, sync the directory by level, close. A lock is held until the rename is done. A symbolic
    /// link at the destination is replaced itself; a directory, device, FIFO or socket there is refused. See fsync(2),
    /// rename(2).
    ///
    /// ```text
    /// removingOnFailure      before the rename                          after it
    /// false                  the file is closed, keeps its old name     the file is closed, has its new name
    /// true                   it is removed, then closed                 the same
    /// ```
    ///
    /// It is removed while a lock is still held, and only if the path still leads to this file: a second process that waits
    /// for the lock never finds its own file gone.
    ///
    /// - Cancellation: throws `CancellationError` if the job has not begun, which counts as a failure before the rename:
    ///   the file is closed or removed all the same. Once begun, the job goes on to its end.
    /// - Failure: a ``FileError``; the file is closed. ``FileError/Code/replaced`` says that another file took its old name
    ///   meanwhile, ``FileError/Code/notFound`` that nothing is there any more; neither is renamed. An error that names the
    ///   sync of the directory or the close comes after the rename.
    ///
    /// - Parameters:
    ///   - destination: A file URL on the same file system.
    ///   - existing: What happens if a file is there: an error by default. `.skip` stops the program.
    ///   - durability: What is promised after a power cut.
    ///   - removingOnFailure: Whether a file that does not get its final name is removed.
    public consuming func publish(
        as destination: URL, existing: ExistingFile = .fail, durability: Durability = .full,
        removingOnFailure: Bool = false
    ) async throws {
        existing.checkIsNotSkip(for: "AsyncFileStream.publish")
        let file = file
        do {
            let final = try Path.of(destination, for: "publish as")
            try await file.io.run { _ in
                try file.publish(as: final, existing, durability, removingOnFailure: removingOnFailure)
            }
        } catch {
            // A job that began has closed the file. One that did not leaves that to this one, which runs in any case. What
            // failed first is what the caller hears of.
            try? await file.io.run(mustRun: true) { _ in file.abandon(removing: removingOnFailure) }
            throw error
        }
    }

    /// Removes the file and closes it: what becomes of a partial file that is not needed.
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
            try kernel.unlink(file.path, ifStill: file.status)
        }
    }
}

extension OpenFile {
    /// The job of publishing. Whatever happens, the descriptor is closed afterwards.
    fileprivate func publish(
        as final: String, _ existing: ExistingFile, _ durability: Durability, removingOnFailure: Bool
    ) throws(FileError) {
        let kernel = io.kernel
        do throws(FileError) {
            if let replaced = try kernel.statusOfReplaced(final, existing, for: "publish as") {
                try takeMode(of: replaced)
            }
            try kernel.sync(descriptor, durability, path)
            try checkName()
            try kernel.rename(path, to: final, existing: existing)
        } catch {
            abandon(removing: removingOnFailure)
            throw error
        }
        do throws(FileError) {
            if durability == .fullAndDirectory {
                try kernel.syncDirectory(of: final)
                if Path.directory(of: final) != Path.directory(of: path) { try kernel.syncDirectory(of: path) }
            }
        } catch {
            abandon(removing: false)
            throw error
        }
        if takeDescriptor() { try kernel.close(descriptor, final) }
    }

    /// Closes what is not closed yet. Removes it first, if at all: with the lock still held, the name is ours.
    fileprivate func abandon(removing: Bool) {
        guard takeDescriptor() else { return }
        if removing { try? io.kernel.unlink(path, ifStill: status) }
        io.kernel.closeQuietly(descriptor)
    }

    /// Only where it differs: some file systems (FAT, SMB) have one mode for all and refuse to set any.
    private func takeMode(of replaced: RawStatus) throws(FileError) {
        let kernel = io.kernel
        let mode = replaced.permissions
        if try kernel.status(ofDescriptor: descriptor, path).permissions == mode { return }
        try kernel.check(kernel.retrying { kernel.calls.changeMode(descriptor, mode) }, "set the mode of", path)
    }

    /// rename(2) takes a name, not a descriptor: what is under the name now must be this file. The kernel has no call that
    /// does both in one step; a program that takes the lock puts no other file there in between.
    private func checkName() throws(FileError) {
        guard let found = try io.kernel.status(of: path, followingLinks: false) else {
            throw FileError(
                code: .notFound, operation: "publish", path: path,
                remedy: "The file was removed or renamed while it was written: write it again.")
        }
        guard found.isSameFile(as: status) else {
            throw FileError(
                code: .replaced, operation: "publish", path: path,
                remedy:
                    "The file was replaced by another while it was written: find the program that writes there, and write it again."
            )
        }
    }
}
