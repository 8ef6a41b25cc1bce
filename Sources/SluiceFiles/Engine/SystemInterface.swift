internal import CSluiceFiles
internal import Synchronization

/// What jobs do with ``SystemCalls``: its methods retry a call after an interruption, throw errors, and count descriptors. Every method may
/// block its thread, and runs only in jobs.
final class SystemInterface: Sendable {
    let calls: SystemCalls

    let openCount = Atomic(0)

    /// The names of temporary files contain a random number per engine and a counter. O_EXCL detects the remaining collisions.
    private let seed = UInt64.random(in: .min ... .max)
    private let counter = Atomic<UInt64>(0)

    init(calls: SystemCalls) { self.calls = calls }

    func uniqueName(prefix: String) -> String {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(prefix)\(String(seed, radix: 36))-\(String(count, radix: 36))"
    }

    /// Calls `create` with new paths in a directory until one isn't taken.
    func withUniquePath<R>(
        in directory: String, prefix: String = ".sluice-", suffix: String = "",
        _ create: (String) throws(FileError) -> R
    ) throws(FileError) -> R {
        var attempt = 1
        while true {
            do throws(FileError) {
                return try create(Path.join(directory, uniqueName(prefix: prefix) + suffix))
            } catch  where error.code == .exists && attempt < 100 {
                attempt += 1  // The name, one of 2^64, is taken.
            }
        }
    }

    // MARK: Results

    /// Retries a call that a signal interrupts, which happens if a handler was installed without SA_RESTART.
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

    /// Opens a file. Child processes don't inherit the descriptor. See open(2).
    func open(
        _ path: String, _ flags: CInt, permissions: UInt32 = 0, for operation: String = "open"
    ) throws(FileError) -> CInt {
        let result = path.withCString { path in retrying { calls.open(path, flags | O_CLOEXEC, permissions) } }
        if result == -EMFILE { throw outOfDescriptors(operation, path) }
        try check(result, operation, path)
        openCount.add(1, ordering: .relaxed)
        return result
    }

    /// Opens a directory inside another one, without following a link. Returns minus the error number on failure.
    func openDirectory(_ name: UnsafePointer<CChar>, in directory: CInt) -> CInt {
        let result = retrying { calls.openAt(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
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

    /// Closes a descriptor once: even after EINTR it's closed, and its number may already belong to another file. See close(2), "Dealing
    /// with error returns from close()".
    ///
    /// `isLocked` means that the descriptor holds a lock. Closing alone may not release it: a forked child process that hasn't called exec
    /// yet holds a copy of the descriptor, and with it the lock. See flock(2).
    func close(_ descriptor: CInt, isLocked: Bool = false, _ path: String) throws(FileError) {
        if isLocked { _ = retrying { calls.unlock(descriptor) } }
        let result = calls.close(descriptor)
        openCount.subtract(1, ordering: .relaxed)
        if result != -EINTR { try check(result, "close", path) }
    }

    func closeQuietly(_ descriptor: CInt, isLocked: Bool = false) {
        if isLocked { _ = retrying { calls.unlock(descriptor) } }
        _ = calls.close(descriptor)
        openCount.subtract(1, ordering: .relaxed)
    }

    // MARK: Status and size

    func truncate(
        _ descriptor: CInt, to size: Int64, for operation: String = "truncate", _ path: String
    ) throws(FileError) {
        try check(retrying { calls.truncate(descriptor, size) }, operation, path)
    }

    func status(ofDescriptor descriptor: CInt, _ path: String) throws(FileError) -> RawStatus {
        var status = RawStatus()
        try check(calls.statusOfDescriptor(descriptor, &status), "read the status of", path)
        return status
    }

    func status(of path: String, followsLinks: Bool = true) throws(FileError) -> RawStatus? {
        var status = RawStatus()
        let result = path.withCString { path in retrying { calls.status(path, followsLinks, &status) } }
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
        let descriptor = try open(directory, O_RDONLY | O_DIRECTORY)
        let result = retrying { calls.syncDirectory(descriptor) }
        closeQuietly(descriptor)
        if result != -EINVAL { try check(result, "sync the directory", directory) }
    }

    // MARK: Names

    /// Renames a file. Unless `existing` is `.replace`, never replaces an existing one. See rename(2), renameat2(2).
    ///
    /// If both names refer to the same file, rename(2) succeeds and does nothing, so the old name is removed separately.
    func rename(_ source: String, to destination: String, existing: ExistingFile) throws(FileError) {
        if existing == .replace, try areLinks(source, destination) {
            return try removeLink(source, to: destination)
        }
        try renameUnique(source, to: destination, existing: existing)
    }

    /// Returns whether two different names refer to the same file.
    private func areLinks(_ source: String, _ destination: String) throws(FileError) -> Bool {
        guard let old = try status(of: source, followsLinks: false), old.links > 1, !old.isDirectory,
            let new = try status(of: destination, followsLinks: false), new.isSameFile(as: old)
        else { return false }
        // Compares bytes: strings with the same characters can be different names.
        if !Path.name(of: source).utf8.elementsEqual(Path.name(of: destination).utf8) { return true }
        let directories = (try status(of: Path.directory(of: source)), try status(of: Path.directory(of: destination)))
        guard let above = directories.0, let other = directories.1 else { return false }
        return !above.isSameFile(as: other)
    }

    /// Renames the source to a unique name, and then to the destination. Unlike removing the source, this is correct even if another
    /// process changes one of the names in the meantime, or if both are the same name in a case-insensitive directory.
    private func removeLink(_ source: String, to destination: String) throws(FileError) {
        let aside = Path.join(Path.directory(of: source), uniqueName(prefix: ".sluice-"))
        try renameUnique(source, to: aside, existing: .fail)
        do throws(FileError) {
            try renameUnique(aside, to: destination, existing: .replace)
            try unlink(aside)
        } catch {
            // By then, the destination named another file, which is replaced.
            if error.systemError == ENOENT { return }
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
            createDirectory: { calls.createDirectory(to, 0o700) },
            rename: { calls.rename(from, to) },
            removeDirectory: { calls.removeDirectory(to) }
        ).run(on: self)
    }

    func unlink(_ path: String) throws(FileError) {
        try check(path.withCString { path in retrying { calls.unlink(path) } }, "remove", path)
    }

    func unlink(_ path: String, ifStill file: RawStatus) throws(FileError) {
        let found = try status(of: path, followsLinks: false)
        if found?.isSameFile(as: file) == true { try unlink(path) }
    }

    func unlinkQuietly(_ path: String) {
        _ = path.withCString { path in retrying { calls.unlink(path) } }
    }
}

// MARK: - Transfers

// Reads and writes that run to completion despite short results, interruptions and descriptors that aren't ready.
extension SystemInterface {
    /// The largest number of bytes in one read or write. Linux transfers no more; macOS refuses more than INT_MAX.
    static var largestTransfer: Int { 2_147_479_552 }

    /// IOV_MAX, the largest number of pieces in one writev(2).
    static var maximumPieces: Int { 1024 }

    // MARK: Reading

    func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, _ path: String
    ) throws(FileError) -> Int {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.largestTransfer))
        while true {
            let result = retrying { calls.read(descriptor, piece) }
            if result == -Int(EAGAIN) {
                try wait(for: descriptor, .reading, path)
                continue
            }
            try check(result, "read", path)
            return result
        }
    }

    static func outOfMemory(_ path: String) -> FileError {
        FileError(operation: "read", path: path, systemError: ENOMEM)
    }

    /// Reads up to `count` bytes. Returns fewer only at the end. With `progress`, reads in pieces.
    func read(
        _ descriptor: CInt, upToCount count: Int, expected: Int, _ path: String,
        _ cancellation: borrowing Cancellation, _ progress: ProgressCounter? = nil
    ) throws -> ReadBuffer {
        var buffer = ReadBuffer(expected: min(count, expected))
        let piece = progress == nil ? count : ProgressCounter.bytesPerReport
        while buffer.count < count {
            try cancellation.check()
            let wanted = count - buffer.count
            let read = try buffer.append(atMost: min(wanted, piece)) { (free) throws(FileError) in
                try self.read(descriptor, into: free, path)
            }
            guard let read else { throw Self.outOfMemory(path) }
            if read == 0 { break }
            progress?.add(bytes: read)
        }
        return buffer
    }

    func readToEnd(
        _ descriptor: CInt, limit: Int, expected: Int, _ path: String, _ cancellation: borrowing Cancellation,
        _ progress: ProgressCounter? = nil
    ) throws -> ReadBuffer {
        // One byte more than the limit detects an excess; one more than expected finds the end in one call.
        let most = limit == .max ? limit : limit + 1
        let buffer = try read(
            descriptor, upToCount: most, expected: expected == .max ? expected : expected + 1, path, cancellation,
            progress)
        if buffer.count > limit { throw Self.excess(over: limit, path) }
        return buffer
    }

    static func excess(over limit: Int, _ path: String) -> FileError {
        FileError(
            code: .limitExceeded, operation: "read", path: path,
            remedy: "Raise maximumSize, which is \(limit) bytes, or read it in chunks.")
    }

    // MARK: Writing

    /// Writes all bytes. The error counts the bytes that were written, including the `written` bytes before this call. See write(2).
    func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, after written: Int = 0, _ path: String
    ) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(done).prefix(Self.largestTransfer))
            done += try transferred(descriptor, written + done, path) { calls.write(descriptor, piece) }
        }
    }

    func write(_ descriptor: CInt, pieces: [UnsafeRawBufferPointer], _ path: String) throws(FileError) {
        var pieces = pieces[...]
        var written = 0
        while true {
            while pieces.first?.isEmpty == true { pieces.removeFirst() }
            if pieces.isEmpty { return }
            let batch = Self.batch(of: pieces)
            var result = try transferred(descriptor, written, path) { calls.writeVector(descriptor, batch) }
            written += result
            while let first = pieces.first, result >= first.count {
                result -= first.count
                pieces.removeFirst()
            }
            if result > 0 {
                pieces[pieces.startIndex] = UnsafeRawBufferPointer(rebasing: pieces.first!.dropFirst(result))
            }
        }
    }

    /// Returns as many pieces as one call accepts. Their total stays within one transfer, because a total over SSIZE_MAX fails with EINVAL.
    private static func batch(of pieces: ArraySlice<UnsafeRawBufferPointer>) -> ArraySlice<UnsafeRawBufferPointer> {
        var total = 0
        var batch = pieces.prefix(maximumPieces)
        for index in batch.indices {
            let count = batch[index].count
            if total + count >= largestTransfer {
                batch[index] = UnsafeRawBufferPointer(rebasing: batch[index].prefix(largestTransfer - total))
                return batch[...index]
            }
            total += count
        }
        return batch
    }

    private func transferred(
        _ descriptor: CInt, _ written: Int, _ path: String, _ call: () -> Int
    ) throws(FileError) -> Int {
        while true {
            let result = retrying(call)
            if result > 0 { return result }
            if result == -Int(EAGAIN) {
                try wait(for: descriptor, .writing, path)
                continue
            }
            // POSIX doesn't allow a result of 0 for a write of at least 1 byte. Without this line, it would cause an endless loop.
            throw FileError(
                operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result), bytesWritten: written)
        }
    }

    /// Blocks until a descriptor that other code made non-blocking is ready. See poll(2).
    private func wait(for descriptor: CInt, _ direction: SystemCalls.Direction, _ path: String) throws(FileError) {
        try check(retrying { calls.waitUntilReady(descriptor, direction) }, "wait for", path)
    }
}

// MARK: - Renaming without replacing

/// A rename that never replaces, built from calls without that option: for old kernels, and for file systems without RENAME_NOREPLACE (NFS,
/// some FUSE).
///
/// ```text
/// a file       link(2), which never replaces, then unlink(2). A crash between them leaves both names of one file.
/// a directory  mkdir(2), which never replaces either, then rename(2), which replaces only an empty directory. A crash
///              between them leaves an empty directory at the destination.
/// ```
///
/// If the old name can't be removed, the new one is removed again. In a sticky directory, neither can be removed if they belong to another
/// user, so that is checked first. An append-only directory (chattr +a) keeps both.
///
/// On failure, every call returns minus the error number.
struct RenameInSteps {
    enum Name {
        case old, new
    }

    /// The status of the directory that has the old name, and of the file, without following a link.
    let statusOfDirectory: (inout RawStatus) -> CInt
    let statusOfFile: (inout RawStatus) -> CInt
    let user: () -> Int
    let link: () -> CInt
    let unlink: (Name) -> CInt
    let createDirectory: () -> CInt
    let rename: () -> CInt
    let removeDirectory: () -> CInt

    /// Returns whether the single call is unavailable. EPERM may come from a sandbox or from a sticky directory. Only a sandbox also denies
    /// a call without names.
    static func isWanted(after result: CInt, ofNoNames call: () -> CInt) -> Bool {
        result == -EINVAL || result == -ENOSYS || (result == -EPERM && call() == -EPERM)
    }

    func run(on system: SystemInterface) -> CInt {
        let allowed = mayRemoveOldName(on: system)
        if allowed < 0 { return allowed }
        let linked = system.retrying(link)
        // Linux and POSIX return EPERM for a directory.
        if linked == -EPERM { return renameDirectory(on: system) }
        guard linked == 0 else { return linked }
        let unlinked = system.retrying { unlink(.old) }
        if unlinked < 0 { _ = system.retrying { unlink(.new) } }
        return unlinked
    }

    /// Returns -EPERM if the old name is in a sticky directory where only the owner of the file or of the directory may remove it. See
    /// unlink(2).
    private func mayRemoveOldName(on system: SystemInterface) -> CInt {
        var directory = RawStatus()
        let found = system.retrying { statusOfDirectory(&directory) }
        guard found >= 0, directory.mode & UInt32(S_ISVTX) != 0 else { return found }
        var file = RawStatus()
        let other = system.retrying { statusOfFile(&file) }
        if other < 0 { return other }
        let user = user()
        return user == 0 || user == file.user || user == directory.user ? 0 : -EPERM
    }

    private func renameDirectory(on system: SystemInterface) -> CInt {
        var status = RawStatus()
        let found = system.retrying { statusOfFile(&status) }
        guard found >= 0, status.isDirectory else { return found < 0 ? found : -EPERM }
        let made = system.retrying(createDirectory)
        guard made == 0 else { return made }
        let renamed = system.retrying(rename)
        if renamed < 0 { _ = system.retrying(removeDirectory) }
        return renamed
    }
}
