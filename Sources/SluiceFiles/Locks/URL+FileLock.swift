internal import CSluiceFiles
internal import SluiceConcurrency

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
    /// After locking, the call checks that the path still leads to the locked file, and starts again if it doesn't. The system
    /// releases the lock when the process ends, even after a crash. Child processes don't inherit it.
    ///
    /// - Order: None. A waiting task tries again after a pause of 1 ms, then of 2, 4, … up to 100 ms, each shortened at random by up
    ///   to a half. It holds neither a thread nor a descriptor in between. Overlapping holders of the shared lock can exclude an
    ///   exclusive one forever.
    /// - Nesting: A task that takes a lock that it already holds waits forever, unless both are shared.
    /// - Cancellation: A waiting call throws `CancellationError` immediately. The lock is released even if the task is cancelled. `body`,
    ///   which runs in the caller's isolation, must check for cancellation itself.
    /// - Failure: The error of `body`, or a ``FileError``: ``FileError/Code/unsupported`` if the file system has no locks;
    ///   ``FileError/Code/notRegularFile``; ``FileError/Code/tooManyLinks`` for a symbolic link, which isn't followed;
    ///   ``FileError/Code/permissionDenied``, also for an exclusive lock on a file that may be read but not written (NFS requires a
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
    /// The timeout limits the wait for the lock, not `body`. A timeout of zero tries once. If the lock isn't free in time, the call
    /// throws `DeadlineExceeded` of SluiceConcurrency, whose cause is the ``FileError`` that names the file. Everything else is the
    /// same as in `withFileLock(_:permissions:using:_:)`.
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
    /// The clock also measures the pauses between two attempts. If the deadline has passed, the call tries once. Everything else is the
    /// same as in `withFileLock(_:timeout:permissions:using:_:)`.
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
                guard let length = pauses.next(remaining: remaining()) else { throw DeadlineExceeded(cause: error) }
                try await pause(length)
            }
        }
    }
}

/// The pauses between two attempts. Each is twice as long as the one before, less a random part, so that tasks that began to wait
/// at the same moment don't all try again at the same moment.
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

extension OpenFile {
    fileprivate func unlock() async {
        // Errors of close are ignored, because the file wasn't written.
        try? await io.run(mustRun: true) { [self] _ in closeOnceQuietly() }
    }
}

extension Kernel {
    /// Opens the file and locks it, or throws `.locked`. For an exclusive lock, NFS requires a file that is open for writing.
    fileprivate func openLocked(
        _ path: String, _ kind: FileLock, _ permissions: UInt32
    ) throws(FileError) -> OpenedFile {
        try openLocked(
            path, kind, isRequired: true, flags: O_CREAT | (kind == .shared ? O_RDONLY : O_RDWR),
            permissions: permissions, truncating: false, for: "lock")
    }
}
