internal import CSluiceFiles
internal import Synchronization

/// The system calls as operations: interrupted ones tried again, failed ones thrown, descriptors counted.
///
/// Everything here may block the thread and runs only in jobs.
final class Kernel: Sendable {
    let calls: SystemCalls

    /// The descriptors that this engine opened and has not closed.
    let openCount = Atomic(0)

    /// Those among them that come back by themselves.
    let brief = BriefDescriptors()

    /// Names for temporary files: one random number per engine and a counter. O_EXCL settles what remains.
    private let seed = UInt64.random(in: .min ... .max)
    private let counter = Atomic<UInt64>(0)

    init(calls: SystemCalls) { self.calls = calls }

    /// A name that nothing in any directory has, most likely.
    func uniqueName(prefix: String) -> String {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(prefix)\(String(seed, radix: 36))-\(String(count, radix: 36))"
    }

    // MARK: Results

    /// Calls again while a signal interrupts, which happens where a handler was installed without SA_RESTART.
    func retrying<R: FixedWidthInteger>(_ call: () -> R) -> R {
        while true {
            let result = call()
            if result != R(-EINTR) { return result }
        }
    }

    /// Throws what a call's negative result says.
    func check<R: SignedInteger & FixedWidthInteger>(
        _ result: R, _ operation: @autoclosure () -> String, _ path: @autoclosure () -> String
    ) throws(FileError) {
        if result < 0 { throw FileError(operation: operation(), path: path(), systemError: CInt(-result)) }
    }

    // MARK: Open and close

    /// Opens, never inherited by child processes. See open(2).
    ///
    /// - Parameter isBrief: Whether this job closes it before it opens anything else: see ``BriefDescriptors``.
    func open(
        _ path: String, _ flags: CInt, permissions: UInt32 = 0, for operation: String = "open", isBrief: Bool = false
    ) throws(FileError) -> CInt {
        let result = path.withCString { path in
            brief.opening(isBrief: isBrief) { retrying { calls.open(path, flags | O_CLOEXEC, permissions) } }
        }
        if result == -EMFILE { throw outOfDescriptors(operation, path) }
        try check(result, operation, path)
        openCount.add(1, ordering: .relaxed)
        return result
    }

    /// Opens a directory below another, itself and not what a link points to. Returns minus the error number on failure.
    func openDirectory(_ name: UnsafePointer<CChar>, in directory: CInt) -> CInt {
        let result = brief.opening(isBrief: false) {
            retrying { calls.openAt(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        }
        if result >= 0 { openCount.add(1, ordering: .relaxed) }
        return result
    }

    /// Says who has them, where that is this engine.
    private func outOfDescriptors(_ operation: String, _ path: String) -> FileError {
        var error = FileError(operation: operation, path: path, systemError: EMFILE)
        let own = openCount.load(ordering: .relaxed)
        if own > 1 {
            error.remedy =
                "This FileIO has \(own) files open: close some, open fewer concurrently, or raise the limit (ulimit -n)."
        }
        return error
    }

    /// Closes. Never tried again: after EINTR too the descriptor is gone, and its number may be another file's already.
    /// See close(2), "Dealing with error returns from close()".
    func close(_ descriptor: CInt, _ path: String) throws(FileError) {
        let result = brief.closing(descriptor) { calls.close(descriptor) }
        openCount.subtract(1, ordering: .relaxed)
        if result != -EINTR { try check(result, "close", path) }
    }

    /// Closes on the way out of a failure, which has an error of its own to report.
    func closeQuietly(_ descriptor: CInt) {
        _ = brief.closing(descriptor) { calls.close(descriptor) }
        openCount.subtract(1, ordering: .relaxed)
    }

    // MARK: Status

    func status(ofDescriptor descriptor: CInt, _ path: String) throws(FileError) -> RawStatus {
        var status = RawStatus()
        try check(calls.statusOfDescriptor(descriptor, &status), "look at", path)
        return status
    }

    /// The status of a path, or nil if nothing is there.
    func status(of path: String, followingLinks: Bool = true) throws(FileError) -> RawStatus? {
        var status = RawStatus()
        let result = path.withCString { path in retrying { calls.status(path, followingLinks, &status) } }
        if result == -ENOENT || result == -ENOTDIR { return nil }
        try check(result, "look at", path)
        return status
    }

    // MARK: Durability

    /// Syncs the file itself as far as the level asks. See fsync(2).
    func sync(_ descriptor: CInt, _ durability: Durability, _ path: String) throws(FileError) {
        switch durability {
        case .none: break
        case .data: try check(retrying { calls.syncData(descriptor) }, "sync", path)
        case .full, .fullAndDirectory: try check(retrying { calls.sync(descriptor) }, "sync", path)
        }
    }

    /// Makes the names in the directory of `path` durable. A file system that has no such operation (EINVAL) is left alone.
    func syncDirectory(of path: String) throws(FileError) {
        let directory = Path.directory(of: path)
        let descriptor = try open(directory, O_RDONLY | O_DIRECTORY, for: "open to sync", isBrief: true)
        let result = retrying { calls.syncDirectory(descriptor) }
        closeQuietly(descriptor)
        if result != -EINVAL { try check(result, "sync the directory", directory) }
    }

    // MARK: Names

    /// Renames; with `.fail`, never over an existing file. See rename(2), renameat2(2).
    func rename(_ source: String, to destination: String, existing: ExistingFile) throws(FileError) {
        let result = source.withCString { from in
            destination.withCString { to in
                switch existing {
                case .replace: retrying { calls.rename(from, to) }
                case .fail, .skip: renameWithoutReplacing(from, to)
                }
            }
        }
        guard result < 0 else { return }
        if result == -EEXIST {
            throw FileError(operation: "rename '\(source)' to", path: destination, systemError: EEXIST)
        }
        throw FileError(operation: "rename to '\(destination)'", path: source, systemError: -result)
    }

    private func renameWithoutReplacing(_ from: SystemCalls.Path, _ to: SystemCalls.Path) -> CInt {
        let calls = calls
        let result = retrying { calls.renameWithoutReplacing(from, to) }
        guard RenameInSteps.isWanted(after: result) else { return result }
        return RenameInSteps(
            link: { calls.link(from, to) },
            unlink: { name in calls.unlink(name == .old ? from : to) },
            isDirectory: {
                var status = RawStatus()
                let found = calls.status(from, false, &status)
                return found < 0 ? found : status.isDirectory ? 1 : 0
            },
            makeDirectory: { calls.makeDirectory(to, 0o700) },
            rename: { calls.rename(from, to) },
            removeDirectory: { calls.removeDirectory(to) }
        ).run(on: self)
    }

    /// Removes a name of a file. See unlink(2).
    func unlink(_ path: String) throws(FileError) {
        try check(path.withCString { path in retrying { calls.unlink(path) } }, "remove", path)
    }

    /// Removes a name only if it still leads to this file: what others put there since then stays.
    func unlink(_ path: String, ifStill file: RawStatus) throws(FileError) {
        let found = try status(of: path, followingLinks: false)
        if found?.isSameFile(as: file) == true { try unlink(path) }
    }

    func unlinkQuietly(_ path: String) {
        _ = path.withCString { path in retrying { calls.unlink(path) } }
    }
}
