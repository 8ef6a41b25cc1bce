internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Whom a lock keeps out.
public enum FileLockKind: Sendable, Hashable {
    /// Those who want it exclusively: many readers may hold it at once.
    case shared
    /// Everybody else.
    case exclusive
}

/// What becomes of a wish for a lock that somebody else holds.
public enum FileLockWait: Sendable, Hashable {
    /// It waits, for as long as the other likes.
    case untilFree
    /// It is tried again until the pauses in between add up to this, then it is ``FileError/Code/locked``.
    case atMost(Duration)
    /// It is ``FileError/Code/locked`` at once.
    case notAtAll
}

extension URL {
    /// Runs `body` while holding a lock on the file, against other processes and other tasks of this one. See flock(2).
    ///
    ///     let lock = folder.appending(path: "index.lock")
    ///     try await lock.withFileLock {                               // one writer at a time
    ///         try await rebuild(index)
    ///     }
    ///     let entries = try await lock.withFileLock(.shared) {        // many readers, while nobody writes
    ///         try await load(index)
    ///     }
    ///
    /// A lock is advisory: it keeps out only those who ask for it. **Lock a file of its own, and leave it where it is.** It is
    /// created if it is missing and is not removed afterwards. A file that is replaced (as `asyncWrite` and `publish` do) is
    /// another file afterwards, whose lock nobody holds; and who removes a lock file that others wait for lets two of them in,
    /// each with a file of its own. This call looks after locking whether the path still leads to what it locked, and
    /// begins anew if it does not; it cannot know of a removal later on.
    ///
    /// The system gives the lock back when the process ends, however it ends. Child processes do not inherit it.
    ///
    /// - Order: none. Whoever waits looks again after a pause of 1 ms, then of 2, 4, … up to 100 ms, each up to a half
    ///   shorter by chance, and holds neither a thread nor a descriptor in between. Those who share may keep out for ever who
    ///   wants it exclusively, if they overlap without a gap.
    /// - Nesting: a task that asks again for a lock that it holds waits for itself, unless both are shared.
    /// - Cancellation: ends the wait with `CancellationError`; `body` looks at it by itself. The lock is given back in any case.
    /// - Failure: what `body` throws, or a ``FileError``: ``FileError/Code/locked``; ``FileError/Code/unsupported`` where the
    ///   file system has no locks; ``FileError/Code/notRegularFile``; ``FileError/Code/tooManyLinks`` for a symbolic link,
    ///   which is not followed; ``FileError/Code/permissionDenied``, also where the file may be read but not written and the
    ///   lock is exclusive (NFS demands an open file for that).
    ///
    /// - Parameters:
    ///   - kind: Whom it keeps out, everybody by default.
    ///   - waiting: What to do if somebody else holds it.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - io: The engine to run on.
    ///   - body: What to do meanwhile. It runs on the calling task and its isolation.
    public func withFileLock<R>(
        _ kind: FileLockKind = .exclusive, waiting: FileLockWait = .untilFree, permissions: FilePermissions = .newFile,
        using io: FileIO = .shared, _ body: () async throws -> R
    ) async throws -> R {
        try await withFileLock(kind, waiting: waiting, permissions: permissions, using: io, pausing: Self.sleep, body)
    }

    /// The same with another way to pause, for tests.
    package func withFileLock<R>(
        _ kind: FileLockKind = .exclusive, waiting: FileLockWait = .untilFree, permissions: FilePermissions = .newFile,
        using io: FileIO = .shared, pausing pause: (Duration) async throws -> Void, _ body: () async throws -> R
    ) async throws -> R {
        let path = try Path.of(self, for: "lock")
        let file = try await Self.lock(path, kind, waiting, permissions, io, pause)
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

    private static func sleep(_ duration: Duration) async throws { try await Task.sleep(for: duration) }

    private static func lock(
        _ path: String, _ kind: FileLockKind, _ waiting: FileLockWait, _ permissions: FilePermissions, _ io: FileIO,
        _ pause: (Duration) async throws -> Void
    ) async throws -> OpenFile {
        var pauses = LockPauses(waiting)
        while true {
            do {
                return try await io.run { _ in
                    OpenFile(try io.kernel.openLocked(path, kind, permissions.rawValue), io)
                }
            } catch let error as FileError where error.code == .locked {
                guard let length = pauses.next() else { throw error }
                try await pause(length)
            }
        }
    }
}

/// How long to pause before each further attempt: twice as long each time, less a part by chance, so that those who began to
/// wait at the same moment do not all come back at the same moment.
struct LockPauses {
    private var length = Duration.milliseconds(1)
    private var left: Duration?

    init(_ waiting: FileLockWait) {
        switch waiting {
        case .untilFree: left = nil
        case .atMost(let duration): left = duration
        case .notAtAll: left = .zero
        }
    }

    /// Nil when there is no time left.
    mutating func next() -> Duration? {
        var pause = length * Double.random(in: 0.5...1)
        length = min(length * 2, .milliseconds(100))
        guard let left else { return pause }
        guard left > .zero else { return nil }
        pause = min(pause, left)
        self.left = left - pause
        return pause
    }
}

extension OpenFile {
    /// Gives the lock back and closes, in any case.
    fileprivate func unlock() async {
        // Not by closing alone: a child process that was forked and has not reached its exec yet holds a copy of the
        // descriptor, and the lock with it. What close reports of a file that nobody wrote is of no use to anybody.
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
        _ path: String, _ kind: FileLockKind, _ permissions: UInt32
    ) throws(FileError) -> OpenedFile {
        try openLocked(
            path, kind, isRequired: true, flags: O_CREAT | (kind == .shared ? O_RDONLY : O_RDWR),
            permissions: permissions, truncating: false, for: "lock")
    }
}
