internal import CSluiceFiles
internal import SluiceConcurrency

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An advisory lock on a whole file, across processes and across the tasks of one process. See <doc:KeepOthersOut> and flock(2).
///
/// On mounts without locks (some FUSE, SMB and NFS mounts), `URL.withFileLock` throws an error, but `openForWriting(locked: true)` opens
/// the file without a lock, and a second writer isn't excluded.
public enum FileLock: Sendable, Hashable {
    /// Any number of holders, as long as no task or process holds the exclusive lock.
    case shared
    /// One holder.
    case exclusive
}

extension URL {
    /// Runs `body` while holding a lock on the file, across processes and across the tasks of this one. See flock(2).
    ///
    ///     let lock = directory.appending(path: "index.lock")
    ///     try await lock.withFileLock {                               // one writer at a time
    ///         try await rebuild(index)
    ///     }
    ///     let entries = try await lock.withFileLock(.shared) {        // many readers, and no writer
    ///         try await load(index)
    ///     }
    ///
    /// A lock is advisory: it excludes only tasks and processes that take it. **Lock a separate file, and never remove or replace
    /// it.** The call creates a missing lock file and leaves it in place. See <doc:KeepOthersOut>.
    ///
    /// After locking, the call checks that the path still leads to the locked file, and starts over if it doesn't. The system releases the
    /// lock when the process ends, even after a crash. Child processes don't inherit it.
    ///
    /// - Order: None. A waiting task polls with backoff: after 1 ms, then 2, 4, … up to 100 ms, each randomly shortened by up to half. It
    ///   holds neither a thread nor a descriptor in between. Overlapping holders of the shared lock can starve a task that wants the
    ///   exclusive one.
    /// - Nesting: A task that takes a lock that it already holds waits forever, unless both are shared.
    /// - Cancellation: A waiting call throws `CancellationError` immediately. The lock is released even if the task is cancelled. `body`,
    ///   which runs in the caller's isolation, must check for cancellation itself.
    /// - Failure: An error from `body`, or a ``FileError``: ``FileError/Code/unsupported`` if the file system has no locks;
    ///   ``FileError/Code/notRegularFile``; ``FileError/Code/tooManyLinks`` for a symbolic link, which isn't followed;
    ///   ``FileError/Code/permissionDenied``, including for an exclusive lock on a file that may be read but not written (NFS requires a
    ///   file that is open for writing).
    public func withFileLock<R>(
        _ lock: FileLock = .exclusive, permissions: FilePermissions = .newFile, using files: FileIO = .shared,
        _ body: () async throws -> R
    ) async throws -> R {
        try await withFileLock(
            lock, permissions: permissions, using: files, remaining: { nil },
            pausing: { try await Task.sleep(for: $0) },
            body)
    }

    /// Runs `body` while holding a lock on the file, and gives up if it isn't free in time.
    ///
    ///     let entries = try await lock.withFileLock(.shared, timeout: .seconds(5)) { try await load(index) }
    ///
    /// The timeout limits the wait for the lock, not `body`. A timeout of zero tries once. If the lock isn't free in time, the call throws
    /// SluiceConcurrency's `DeadlineExceeded`, whose cause is the ``FileError`` that names the file. Everything else is the same as in
    /// `withFileLock(_:permissions:using:_:)`.
    public func withFileLock<R>(
        _ lock: FileLock = .exclusive, timeout: Duration, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared, _ body: () async throws -> R
    ) async throws -> R {
        let clock = ContinuousClock()
        return try await withFileLock(
            lock, until: clock.deadline(after: timeout), clock: clock, permissions: permissions, using: files, body)
    }

    /// Runs `body` while holding a lock on the file, and gives up if it isn't free by a deadline.
    ///
    ///     try await lock.withFileLock(until: .now + .seconds(5), clock: .suspending) { try await rebuild(index) }
    ///
    /// The clock also measures the pauses between attempts. If the deadline has passed, the call tries once. Everything else is the same as
    /// in `withFileLock(_:timeout:permissions:using:_:)`.
    public func withFileLock<R, C: Clock>(
        _ lock: FileLock = .exclusive, until deadline: C.Instant, clock: C, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared, _ body: () async throws -> R
    ) async throws -> R where C.Duration == Duration {
        try await withFileLock(
            lock, permissions: permissions, using: files, remaining: { clock.now.duration(to: deadline) },
            pausing: { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }, body)
    }

    /// Runs `body` with a lock. `remaining` and `pausing` represent the clock, or replace it in tests.
    package func withFileLock<R>(
        _ lock: FileLock = .exclusive, permissions: FilePermissions = .newFile, using files: FileIO = .shared,
        remaining: () -> Duration? = { nil }, pausing pause: (Duration) async throws -> Void,
        _ body: () async throws -> R
    ) async throws -> R {
        let path = try Path.of(self, for: "lock")
        let file = try await Self.lock(path, lock, permissions, files, remaining, pause)
        return try await scoped(body) {
            // Errors of close are ignored, because the file wasn't written.
            try? await files.run(mustRun: true) { _ in file.closeOnceQuietly() }
        }
    }

    private static func lock(
        _ path: String, _ lock: FileLock, _ permissions: FilePermissions, _ files: FileIO,
        _ remaining: () -> Duration?, _ pause: (Duration) async throws -> Void
    ) async throws -> OpenFile {
        var pauses = LockPauses()
        while true {
            do {
                return try await files.run { _ in
                    // For an exclusive lock, NFS requires a file that is open for writing.
                    let opened = try files.system.openLocked(
                        path, lock, isRequired: true, flags: O_CREAT | (lock == .shared ? O_RDONLY : O_RDWR),
                        permissions: permissions.rawValue, truncating: false, for: "lock")
                    return OpenFile(opened, files)
                }
            } catch let error as FileError where error.code == .locked {
                guard let length = pauses.next(remaining: remaining()) else { throw DeadlineExceeded(cause: error) }
                try await pause(length)
            }
        }
    }
}

// MARK: - Waiting for a lock

/// The pauses between attempts: exponential backoff with jitter, so that tasks that started waiting together don't retry together.
struct LockPauses {
    private var length = Duration.milliseconds(1)

    /// Returns the next pause, or `nil` if no time remains. Without a bound, `remaining` is `nil`.
    mutating func next(remaining: Duration?) -> Duration? {
        let pause = length * Double.random(in: 0.5...1)
        length = min(length * 2, .milliseconds(100))
        guard let remaining else { return pause }
        return remaining > .zero ? min(pause, remaining) : nil
    }
}

// MARK: - System calls

extension SystemInterface {
    static var maximumLockAttempts: Int { 100 }

    /// Opens a file and locks it. With `truncating`, truncates it once the lock is held.
    ///
    /// ```text
    /// this process                         another process, which holds the lock
    /// open "song.part"   (inode 7)
    ///                                      rename "song.part" to "song", close: the lock is free
    /// lock inode 7       succeeds
    /// look at the path   not inode 7:
    ///                    close, open again
    /// ```
    ///
    /// Without the last step, this process would write into the finished file "song". A second name is just as dangerous: a crash between
    /// link and unlink (see `renameWithoutReplacing`) leaves one file with both names, "song" and "song.part". So a file that must be
    /// truncated and has other names isn't touched; its name is removed and a new file is created. See flock(2).
    ///
    /// Other users can often guess the name ("song.part"). So a symbolic link isn't followed (O_NOFOLLOW), and opening a FIFO doesn't
    /// wait for its reader (O_NONBLOCK, which has no effect on a regular file). See open(2).
    ///
    /// If the file system has no locks, the file is opened without one, unless `isRequired`.
    func openLocked(
        _ path: String, _ kind: FileLock = .exclusive, isRequired: Bool = false, flags: CInt, permissions: UInt32,
        truncating: Bool, for operation: String
    ) throws(FileError) -> RawFile {
        for _ in 0..<Self.maximumLockAttempts {
            let descriptor = try openToLock(path, flags, permissions: permissions, for: operation)
            let locked = retrying { calls.lock(descriptor, kind.operation | LOCK_NB) }
            do throws(FileError) {
                let opened = try status(ofDescriptor: descriptor, path)
                // Checked before the lock's result: if another process has locked a FIFO, the error must say that it's a FIFO.
                guard opened.isRegularFile else {
                    throw FileError(
                        code: .notRegularFile, operation: "lock", path: path, remedy: Self.onlyRegularFiles)
                }
                if Self.hasNoLocks(locked) {
                    if isRequired { throw Self.noLocks(path, locked) }
                } else {
                    try check(locked, "lock", path)
                }
                if let found = try status(of: path, followsLinks: false),
                    found.isSameFile(as: opened)
                {
                    if !truncating || opened.links < 2 {
                        if truncating, opened.size > 0 {
                            try truncate(descriptor, to: 0, for: "empty", path)
                        }
                        return RawFile(descriptor: descriptor, path: path, status: opened, isLocked: locked >= 0)
                    }
                    try unlink(path)
                }
            } catch {
                closeQuietly(descriptor, isLocked: locked >= 0)
                throw error
            }
            closeQuietly(descriptor, isLocked: locked >= 0)
        }
        throw Self.keepsChanging(path)
    }

    /// Creates a file and locks it. If a file with this name exists and isn't locked, a killed process left it there. It is removed rather
    /// than reused, because other processes may have it open, or its rights may differ.
    func createLocked(_ path: String, permissions: UInt32, for operation: String) throws(FileError) -> RawFile {
        for _ in 0..<Self.maximumLockAttempts {
            do throws(FileError) {
                if let created = try createOnceLocked(path, permissions: permissions, for: operation) { return created }
            } catch  where error.systemError == EEXIST {
                try removeUnlocked(path, for: operation)
            }
        }
        throw Self.keepsChanging(path)
    }

    /// Returns `nil` if another process removed the file before this one locked it.
    private func createOnceLocked(
        _ path: String, permissions: UInt32, for operation: String
    ) throws(FileError) -> RawFile? {
        let descriptor = try open(
            path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions, for: operation)
        let locked = retrying { calls.lock(descriptor, LOCK_EX | LOCK_NB) }
        do throws(FileError) {
            let created = try status(ofDescriptor: descriptor, path)
            if !Self.hasNoLocks(locked) { try check(locked, "lock", path) }
            // Another process may have mistaken the new file for one that a killed process left, and removed its only name.
            if created.links > 0 {
                return RawFile(descriptor: descriptor, path: path, status: created, isLocked: locked >= 0)
            }
        } catch {
            closeQuietly(descriptor, isLocked: locked >= 0)
            throw error
        }
        closeQuietly(descriptor, isLocked: locked >= 0)
        return nil
    }

    private func removeUnlocked(_ path: String, for operation: String) throws(FileError) {
        let stale: RawFile
        do throws(FileError) {
            stale = try openLocked(path, flags: O_WRONLY, permissions: 0, truncating: false, for: operation)
        } catch  where error.systemError == ENOENT {
            return
        }
        // While this process holds the lock, it owns the name.
        defer { closeQuietly(stale.descriptor, isLocked: stale.isLocked) }
        try unlink(path)
    }

    private static func keepsChanging(_ path: String) -> FileError {
        FileError(
            code: .locked, operation: "lock", path: path,
            remedy: "Try again later, because programs keep replacing this file.")
    }

    private func openToLock(
        _ path: String, _ flags: CInt, permissions: UInt32, for operation: String
    ) throws(FileError) -> CInt {
        do throws(FileError) {
            return try open(path, flags | O_NOFOLLOW | O_NONBLOCK, permissions: permissions, for: operation)
        } catch {
            var error = error
            switch error.systemError {
            case ELOOP:
                error.remedy =
                    "Give the file's own path, because a file isn't locked through a symbolic link."
            // In order: a directory; a FIFO without a reader, or a socket; a socket on Apple platforms; a device without a driver.
            case EISDIR, ENXIO, EOPNOTSUPP, ENODEV:
                error.code = .notRegularFile
                error.remedy = Self.onlyRegularFiles
            default: break
            }
            throw error
        }
    }

    private static var onlyRegularFiles: String { "Choose another path, because only a regular file can be locked." }

    private static func noLocks(_ path: String, _ result: CInt) -> FileError {
        FileError(
            code: .unsupported, operation: "lock", path: path, systemError: -result,
            remedy: "Put the lock file on a local file system, because this one has no locks.")
    }

    /// Returns whether a result of flock(2) means that the file system has no locks. FUSE, SMB and NFS mounts return one of these.
    /// ENOLCK can also mean that the server has no more locks, but NFS without a lock daemon returns it too.
    private static func hasNoLocks(_ result: CInt) -> Bool {
        [-EOPNOTSUPP, -ENOTSUP, -ENOLCK, -EINVAL, -ENOSYS].contains(result)
    }
}

extension FileLock {
    fileprivate var operation: CInt {
        switch self {
        case .shared: LOCK_SH
        case .exclusive: LOCK_EX
        }
    }
}
