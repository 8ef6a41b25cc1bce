internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// Runs `body` while holding a lock on the file, against other processes and other tasks of this one. See flock(2).
    ///
    ///     let lock = directory.appending(path: "index.lock")
    ///     try await lock.withFileLock {                               // one writer at a time
    ///         try await rebuild(index)
    ///     }
    ///     let entries = try await lock.withFileLock(.shared) {        // many readers, and no writer
    ///         try await load(index)
    ///     }
    ///
    /// A lock is advisory: it keeps out only tasks and processes that take it. **Lock a file of its own, and never remove or
    /// replace it.** The call creates a missing lock file and leaves it in place. A file that is replaced (as `asyncWrite` and
    /// `publish` do) is another file afterwards, which isn't locked. If a process removes a lock file while others wait for it,
    /// two of them get in, each with a file of its own. After locking, this call checks that the path still leads to the
    /// file that it locked, and starts again if it doesn't. It can't detect a later removal.
    ///
    /// The system releases the lock when the process ends, in any way. Child processes don't inherit it.
    ///
    /// - Order: none. A waiting task tries again after a pause of 1 ms, then of 2, 4, … up to 100 ms, each up to a half
    ///   shorter at random, and holds neither a thread nor a descriptor in between. Holders of the shared lock that overlap
    ///   without a gap keep the exclusive one out forever.
    /// - Nesting: a task that takes a lock that it holds already waits for itself, unless both are shared.
    /// - Cancellation: ends the wait with `CancellationError`. `body` checks for cancellation itself. The lock is released in
    ///   any case.
    /// - Failure: what `body` throws, or a ``FileError``: ``FileError/Code/unsupported`` where the file system has no locks;
    ///   ``FileError/Code/notRegularFile``; ``FileError/Code/tooManyLinks`` for a symbolic link, which isn't followed;
    ///   ``FileError/Code/permissionDenied``, also where the file may be read but not written and the lock is exclusive (NFS
    ///   demands an open file for that).
    ///
    /// - Parameters:
    ///   - lock: Shared or exclusive.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - files: The engine to run on.
    ///   - body: What to do with the lock. It runs on the calling task and its isolation.
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
    /// A timeout of zero tries once. If the lock isn't free, the call throws a ``FileError`` with code
    /// ``FileError/Code/locked``. Everything else is as in `withFileLock(_:permissions:using:_:)`.
    ///
    /// - Parameters:
    ///   - lock: Shared or exclusive.
    ///   - timeout: How long to wait for the lock. It doesn't bound `body`.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - files: The engine to run on.
    ///   - body: What to do with the lock. It runs on the calling task and its isolation.
    public func withFileLock<R>(
        _ lock: FileLock = .exclusive, timeout: Duration, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared, _ body: () async throws -> R
    ) async throws -> R {
        let clock = ContinuousClock()
        return try await withFileLock(
            lock, until: clock.now.advanced(by: timeout), clock: clock, permissions: permissions, using: files, body)
    }

    /// Runs `body` while holding a lock on the file, and gives up if it isn't free by a deadline.
    ///
    ///     try await lock.withFileLock(until: .now + .seconds(5), clock: .suspending) { try await rebuild(index) }
    ///
    /// A deadline that has passed tries once. If the lock isn't free, the call throws a ``FileError`` with code
    /// ``FileError/Code/locked``. Everything else is as in `withFileLock(_:permissions:using:_:)`.
    ///
    /// - Parameters:
    ///   - lock: Shared or exclusive.
    ///   - deadline: When to give up waiting for the lock. It doesn't bound `body`.
    ///   - clock: The clock of the deadline, which also measures the pauses between two attempts.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - files: The engine to run on.
    ///   - body: What to do with the lock. It runs on the calling task and its isolation.
    public func withFileLock<R, C: Clock>(
        _ lock: FileLock = .exclusive, until deadline: C.Instant, clock: C, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared, _ body: () async throws -> R
    ) async throws -> R where C.Duration == Duration {
        try await withFileLock(
            lock, permissions: permissions, using: files, remaining: { clock.now.duration(to: deadline) },
            pausing: { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }, body)
    }

    /// The same with a way to tell the time and to pause.
    package func withFileLock<R>(
        _ lock: FileLock = .exclusive, permissions: FilePermissions = .newFile, using files: FileIO = .shared,
        remaining: () -> Duration? = { nil }, pausing pause: (Duration) async throws -> Void,
        _ body: () async throws -> R
    ) async throws -> R {
        let path = try Path.of(self, for: "lock")
        let file = try await Self.lock(path, lock, permissions, files, remaining, pause)
        let result: R
        do {
            result = try await body()
        } catch {
            await file.unlock()
            throw error
        }
        await file.unlock()
        return result
    }

    private static func lock(
        _ path: String, _ lock: FileLock, _ permissions: FilePermissions, _ files: FileIO,
        _ remaining: () -> Duration?, _ pause: (Duration) async throws -> Void
    ) async throws -> OpenFile {
        var pauses = LockPauses()
        while true {
            do {
                return try await files.run { _ in
                    OpenFile(try files.kernel.openLocked(path, lock, permissions.rawValue), files)
                }
            } catch let error as FileError where error.code == .locked {
                guard let length = pauses.next(remaining: remaining()) else { throw error }
                try await pause(length)
            }
        }
    }
}

/// How long to pause before each further attempt: twice as long each time, less a random part, so that tasks that began to
/// wait at the same moment don't all come back at the same moment.
struct LockPauses {
    private var length = Duration.milliseconds(1)

    /// The next pause, nil if no time is left. Without a bound, `remaining` is nil.
    mutating func next(remaining: Duration?) -> Duration? {
        let pause = length * Double.random(in: 0.5...1)
        length = min(length * 2, .milliseconds(100))
        guard let remaining else { return pause }
        return remaining > .zero ? min(pause, remaining) : nil
    }
}

extension OpenFile {
    /// Releases the lock and closes, in any case.
    fileprivate func unlock() async {
        // Not by closing alone: a child process that was forked and has not reached its exec yet holds a copy of the
        // descriptor, and the lock with it. What close reports of a file that wasn't written means nothing.
        try? await io.run(mustRun: true) { [self] _ in
            guard takeDescriptor() else { return }
            _ = io.kernel.retrying { io.kernel.calls.lock(descriptor, LOCK_UN) }
            io.kernel.closeQuietly(descriptor)
        }
    }
}

extension Kernel {
    /// Opens the file and locks it, or throws `.locked`. NFS locks exclusively only what is open for writing.
    fileprivate func openLocked(
        _ path: String, _ kind: FileLock, _ permissions: UInt32
    ) throws(FileError) -> OpenedFile {
        try openLocked(
            path, kind, isRequired: true, flags: O_CREAT | (kind == .shared ? O_RDONLY : O_RDWR),
            permissions: permissions, truncating: false, for: "lock")
    }
}
