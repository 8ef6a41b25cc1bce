internal import CSluiceFiles
internal import Synchronization

/// The system calls as operations: they are repeated after an interruption, throw their errors, and count descriptors. Every method
/// may block the thread and runs only in jobs.
final class Kernel: Sendable {
    let calls: SystemCalls

    let openCount = Atomic(0)

    let brief = BriefDescriptors()

    /// The names of temporary files contain a random number per engine and a counter. O_EXCL detects the remaining collisions.
    private let seed = UInt64.random(in: .min ... .max)
    private let counter = Atomic<UInt64>(0)

    init(calls: SystemCalls) { self.calls = calls }

    func uniqueName(prefix: String) -> String {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(prefix)\(String(seed, radix: 36))-\(String(count, radix: 36))"
    }

    // MARK: Results

    /// Repeats a call that a signal interrupts, which happens if a handler was installed without SA_RESTART.
    func retrying<R: FixedWidthInteger>(_ call: () -> R) -> R {
        while true {
            let result = call()
            if result != R(-EINTR) { return result }
        }
    }

    func check<R: SignedInteger & FixedWidthInteger>(
        _ result: R, _ operation: @autoclosure () -> String, _ path: @autoclosure () -> String
    ) throws(FileError) {
        if result < 0 { throw FileError(operation: operation(), path: path(), systemError: CInt(-result)) }
    }

    // MARK: Open and close

    /// Opens a file. Child processes don't inherit the descriptor. `isBrief` says that this job closes the file before it opens another:
    /// see ``BriefDescriptors``. See open(2).
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

    /// Opens a directory inside another one, without following a link. Returns minus the error number on failure.
    func openDirectory(_ name: UnsafePointer<CChar>, in directory: CInt) -> CInt {
        let result = brief.opening(isBrief: false) {
            retrying { calls.openAt(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        }
        if result >= 0 { openCount.add(1, ordering: .relaxed) }
        return result
    }

    private func outOfDescriptors(_ operation: String, _ path: String) -> FileError {
        var error = FileError(operation: operation, path: path, systemError: EMFILE)
        let own = openCount.load(ordering: .relaxed)
        if own > 1 {
            error.remedy =
                "Close some of the \(own) files of this FileIO, open fewer concurrently, or raise the limit (ulimit -n)."
        }
        return error
    }

    /// Closes a descriptor once: even after EINTR it's closed, and its number may already be another file's. See close(2), "Dealing with
    /// error returns from close()".
    ///
    /// `isLocked` says that the descriptor holds a lock. Closing alone may not release it: a forked child process that hasn't called
    /// exec yet holds a copy of the descriptor, and with it the lock. See flock(2).
    func close(_ descriptor: CInt, isLocked: Bool = false, _ path: String) throws(FileError) {
        if isLocked { _ = retrying { calls.unlock(descriptor) } }
        let result = brief.closing(descriptor) { calls.close(descriptor) }
        openCount.subtract(1, ordering: .relaxed)
        if result != -EINTR { try check(result, "close", path) }
    }

    func closeQuietly(_ descriptor: CInt, isLocked: Bool = false) {
        if isLocked { _ = retrying { calls.unlock(descriptor) } }
        _ = brief.closing(descriptor) { calls.close(descriptor) }
        openCount.subtract(1, ordering: .relaxed)
    }

    // MARK: Status

    func status(ofDescriptor descriptor: CInt, _ path: String) throws(FileError) -> RawStatus {
        var status = RawStatus()
        try check(calls.statusOfDescriptor(descriptor, &status), "read the status of", path)
        return status
    }

    func status(of path: String, followingLinks: Bool = true) throws(FileError) -> RawStatus? {
        var status = RawStatus()
        let result = path.withCString { path in retrying { calls.status(path, followingLinks, &status) } }
        if result == -ENOENT || result == -ENOTDIR { return nil }
        try check(result, "read the status of", path)
        return status
    }

    // MARK: Durability

    func sync(_ descriptor: CInt, _ durability: Durability, _ path: String) throws(FileError) {
        switch durability {
        case .none: break
        case .data: try check(retrying { calls.syncData(descriptor) }, "sync", path)
        case .full, .fullAndDirectory: try check(retrying { calls.sync(descriptor) }, "sync", path)
        }
    }

    /// Syncs the directory of `path`, which makes its names durable. EINVAL is ignored: the file system has no such operation.
    func syncDirectory(of path: String) throws(FileError) {
        let directory = Path.directory(of: path)
        let descriptor = try open(directory, O_RDONLY | O_DIRECTORY, for: "open", isBrief: true)
        let result = retrying { calls.syncDirectory(descriptor) }
        closeQuietly(descriptor)
        if result != -EINVAL { try check(result, "sync the directory", directory) }
    }

    // MARK: Names

    /// Renames a file. Unless `existing` is `.replace`, never replaces an existing one. See rename(2), renameat2(2).
    ///
    /// If both names lead to one file, rename(2) succeeds and does nothing. Then the old name is removed.
    func rename(_ source: String, to destination: String, existing: ExistingFile) throws(FileError) {
        if existing == .replace, try areLinks(source, destination) {
            return try removeLink(source, to: destination)
        }
        try renameUnique(source, to: destination, existing: existing)
    }

    /// Returns whether two different names lead to one file.
    private func areLinks(_ source: String, _ destination: String) throws(FileError) -> Bool {
        guard let old = try status(of: source, followingLinks: false), old.links > 1, !old.isDirectory,
            let new = try status(of: destination, followingLinks: false), new.isSameFile(as: old)
        else { return false }
        // Byte by byte: strings with the same characters can be different names.
        if !Path.name(of: source).utf8.elementsEqual(Path.name(of: destination).utf8) { return true }
        let directories = (try status(of: Path.directory(of: source)), try status(of: Path.directory(of: destination)))
        guard let above = directories.0, let other = directories.1 else { return false }
        return !above.isSameFile(as: other)
    }

    /// Moves a name out of the way and then over the other one. Unlike removing the name, this is right even if another process changes
    /// one of the names meanwhile, and if both are one name in a directory that doesn't distinguish case.
    private func removeLink(_ source: String, to destination: String) throws(FileError) {
        let aside = Path.join(Path.directory(of: source), uniqueName(prefix: ".sluice-"))
        try renameUnique(source, to: aside, existing: .fail)
        do throws(FileError) {
            try renameUnique(aside, to: destination, existing: .replace)
            try unlink(aside)
        } catch {
            if error.systemError == ENOENT { return }  // Now it was another file's name, and is replaced.
            try? renameUnique(aside, to: source, existing: .fail)
            throw error.with(operation: "give the name '\(destination)' to", path: source)
        }
    }

    /// Renames a file that has only this name, such as a temporary file.
    func renameUnique(_ source: String, to destination: String, existing: ExistingFile) throws(FileError) {
        let result = source.withCString { from in
            destination.withCString { to in
                switch existing {
                case .replace: retrying { calls.rename(from, to) }
                case .fail, .skip: renameWithoutReplacing(from, to, source)
                }
            }
        }
        guard result < 0 else { return }
        if result == -EEXIST {
            throw FileError(operation: "rename '\(source)' to", path: destination, systemError: EEXIST)
        }
        throw FileError(operation: "give the name '\(destination)' to", path: source, systemError: -result)
    }

    private func renameWithoutReplacing(
        _ from: SystemCalls.Path, _ to: SystemCalls.Path, _ source: String
    ) -> CInt {
        let calls = calls
        let result = retrying { calls.renameWithoutReplacing(from, to) }
        guard
            RenameInSteps.isWanted(
                after: result, ofNoNames: { "".withCString { calls.renameWithoutReplacing($0, $0) } })
        else { return result }
        let directory = Path.directory(of: source)
        return RenameInSteps(
            statusOfDirectory: { status in directory.withCString { calls.status($0, true, &status) } },
            statusOfFile: { calls.status(from, false, &$0) },
            user: { calls.metadata.effectiveUser() },
            link: { calls.link(from, to) },
            unlink: { name in calls.unlink(name == .old ? from : to) },
            makeDirectory: { calls.makeDirectory(to, 0o700) },
            rename: { calls.rename(from, to) },
            removeDirectory: { calls.removeDirectory(to) }
        ).run(on: self)
    }

    func unlink(_ path: String) throws(FileError) {
        try check(path.withCString { path in retrying { calls.unlink(path) } }, "remove", path)
    }

    func unlink(_ path: String, ifStill file: RawStatus) throws(FileError) {
        let found = try status(of: path, followingLinks: false)
        if found?.isSameFile(as: file) == true { try unlink(path) }
    }

    func unlinkQuietly(_ path: String) {
        _ = path.withCString { path in retrying { calls.unlink(path) } }
    }
}
