import Foundation
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct Locks {
    /// Lets a test see each pause of a waiting task, and end it.
    private final class Pauses: Sendable {
        private let begun = AsyncStream.makeStream(of: Duration.self)
        private let ended = AsyncStream.makeStream(of: Void.self)

        func pause(_ duration: Duration) async throws {
            begun.continuation.yield(duration)
            for await _ in ended.stream { return }
            throw CancellationError()
        }

        func next() async -> Duration? {
            for await duration in begun.stream { return duration }
            return nil
        }

        func end() { ended.continuation.yield() }
    }

    /// Expects that a wait times out with an error that names the file.
    @discardableResult
    private func expectLocked<R>(_ body: () async throws -> R) async -> FileError? {
        let late = await #expect(throws: DeadlineExceeded.self) { _ = try await body() }
        let error = late?.cause as? FileError
        #expect(error?.code == .locked)
        return error
    }

    // MARK: Exclusion

    @Test func `shared locks can be held together, and an exclusive lock only alone`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            for (held, wanted, together) in [
                (FileLock.shared, FileLock.shared, true), (.shared, .exclusive, false),
                (.exclusive, .shared, false), (.exclusive, .exclusive, false),
            ] {
                try await lock.withFileLock(held, using: io) {
                    if together {
                        let result = try await lock.withFileLock(wanted, timeout: .zero, using: io) { 7 }
                        #expect(result == 7)
                    } else {
                        let error = await expectLocked {
                            try await lock.withFileLock(wanted, timeout: .zero, using: io) {}
                        }
                        #expect(error?.operation == "lock" && error?.subject == lock.path)
                        #expect(error?.systemError == EWOULDBLOCK)
                    }
                }
                try await lock.withFileLock(.exclusive, timeout: .zero, using: io) {}
            }
            #expect(names(in: directory) == ["lock"], "created, and left")
        }
    }

    @Test func `a file opened with a lock can't be locked by a scope, nor the other way around`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let stream = try await lock.openForWriting(locked: true, using: io)
            await expectLocked { try await lock.withFileLock(.shared, timeout: .zero, using: io) {} }
            try await stream.close()
            try await lock.withFileLock(.shared, using: io) {
                _ = await expectFileError(.locked) {
                    try await lock.withFileForWriting(locked: true, using: io) { _ in }
                }
            }
        }
    }

    @Test func `locking leaves a file's contents and mode unchanged`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            try pattern(10).write(to: lock)
            #expect(chmod(lock.path, 0o640) == 0)
            for kind in [FileLock.shared, .exclusive] { try await lock.withFileLock(kind, using: io) {} }
            #expect(same(contents(of: lock), pattern(10)))
            #expect(mode(of: lock) == 0o640)
            let new = directory.appending(path: "new")
            try await new.withFileLock(.shared, permissions: 0o600, using: io) { #expect(mode(of: new) == 0o600) }
        }
    }

    @Test func `the lock is released if the body throws or is cancelled`() async throws {
        struct Mine: Error {}
        let unlocked = Guarded(0)
        var calls = SystemCalls.system
        calls.unlock = { descriptor in
            unlocked.withLock { $0 += 1 }
            return SystemCalls.system.unlock(descriptor)
        }
        try await withIO(calls: calls) { io, directory in
            let lock = directory.appending(path: "lock")
            await #expect(throws: Mine.self) { try await lock.withFileLock(using: io) { throw Mine() } }
            #expect(io.statistics.openCount == 0)
            #expect(unlocked.withLock { $0 } == 1)
            let task = Task {
                try await lock.withFileLock(using: io) {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try Task.checkCancellation()
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(io.statistics.openCount == 0)
            #expect(unlocked.withLock { $0 } == 2)
            try await lock.withFileLock(timeout: .zero, using: io) {}
        }
    }

    @MainActor @Test func `the body runs on its caller's actor`() async throws {
        try await withIO { io, directory in
            var runs = 0
            try await directory.appending(path: "lock").withFileLock(using: io) {
                MainActor.assertIsolated()
                runs += 1
            }
            #expect(runs == 1)
        }
    }

    // MARK: Waiting

    @Test
    func `a waiting task holds no thread or descriptor, pauses longer each time, and gets the lock when it's free`()
        async throws
    {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let pauses = Pauses()
            let waiting = Guarded<Task<Int, any Error>?>(nil)
            try await lock.withFileLock(using: io) {
                let task = Task {
                    try await lock.withFileLock(using: io, pausing: { try await pauses.pause($0) }) { 7 }
                }
                waiting.withLock { $0 = task }
                var longest = Duration.milliseconds(1)
                for _ in 0..<10 {
                    let pause = try #require(await pauses.next())
                    #expect(pause <= longest && pause >= longest * 0.5)
                    #expect(io.statistics.openCount == 1)
                    #expect(io.statistics.runningCount + io.statistics.waitingCount == 0)
                    longest = min(longest * 2, .milliseconds(100))
                    pauses.end()
                }
                #expect(await pauses.next() != nil)
            }
            pauses.end()
            #expect(try await waiting.withLock { $0 }?.value == 7)
        }
    }

    @Test func `cancelling a wait ends it`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            try await lock.withFileLock(using: io) {
                let pauses = Pauses()
                let task = Task { try await lock.withFileLock(using: io, pausing: { try await pauses.pause($0) }) {} }
                _ = await pauses.next()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }

    @Test func `a wait with a deadline throws when the deadline has passed, and not before`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let clock = ManualClock()
            try await lock.withFileLock(using: io) {
                let deadline = clock.now.advanced(by: .milliseconds(500))
                let task = Task { try await lock.withFileLock(.shared, until: deadline, clock: clock, using: io) {} }
                for step in [Duration.milliseconds(100), .milliseconds(399), .milliseconds(1)] {
                    await clock.sleepers(1)
                    clock.advance(by: step)
                }
                let error = await expectLocked { try await task.value }
                #expect(error?.operation == "lock" && clock.now == deadline)
            }
        }
    }

    @Test func `a wait with a deadline gets a lock that is released in time`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let clock = ManualClock()
            let waiting = Guarded<Task<Int, any Error>?>(nil)
            try await lock.withFileLock(using: io) {
                let deadline = clock.now.advanced(by: .seconds(1))
                waiting.withLock { value in
                    value = Task { try await lock.withFileLock(until: deadline, clock: clock, using: io) { 7 } }
                }
                await clock.sleepers(1)
            }
            clock.advance(by: .milliseconds(1))
            #expect(try await waiting.withLock { $0 }?.value == 7)
        }
    }

    @Test(arguments: [
        Duration.seconds(Int64.max), Duration(attoseconds: .max), .zero, .seconds(-1), Duration(attoseconds: .min),
    ])
    func `a timeout may have any length`(timeout: Duration) async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let isHeld = try await lock.withFileLock(timeout: timeout, using: io) { true }
            #expect(isHeld)
        }
    }

    @Test func `cancelling a wait with a deadline ends it`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let clock = ManualClock()
            try await lock.withFileLock(using: io) {
                let deadline = clock.now.advanced(by: .seconds(1))
                let task = Task { try await lock.withFileLock(until: deadline, clock: clock, using: io) {} }
                await clock.sleepers(1)
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }

    @Test func `tasks that count in a locked file lose no increment`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let counter = directory.appending(path: "counter")
            try Data("0".utf8).write(to: counter)
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await count(in: counter, under: lock, times: 10, using: io) } }
                try await group.waitForAll()
            }
            #expect(number(in: counter) == 80)
        }
    }

    // MARK: Between processes

    #if os(Linux)
    @Test func `processes and tasks that count in a locked file lose no increment`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let counter = directory.appending(path: "counter")
            try Data("0".utf8).write(to: counter)
            try await withThrowingTaskGroup { group in
                for _ in 0..<2 {
                    group.addTask {
                        let status = try await shell(
                            "for i in 1 2 3 4 5 6 7 8 9 10; do flock lock sh -c 'n=$(cat counter); echo $((n + 1)) > counter'; done",
                            in: directory)
                        #expect(status == 0)
                    }
                }
                for _ in 0..<2 { group.addTask { try await count(in: counter, under: lock, times: 10, using: io) } }
                try await group.waitForAll()
            }
            #expect(number(in: counter) == 40)
        }
    }

    @Test func `a lock keeps out other processes`() async throws {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            try await lock.withFileLock(using: io) {
                try await expectStatus(1, of: "flock --shared --nonblock lock true", in: directory)
                try await expectStatus(1, of: "flock --nonblock lock true", in: directory)
            }
            try await lock.withFileLock(.shared, using: io) {
                try await expectStatus(0, of: "flock --shared --nonblock lock true", in: directory)
                try await expectStatus(1, of: "flock --nonblock lock true", in: directory)
            }
            try await expectStatus(0, of: "flock --nonblock lock true", in: directory)
        }
    }

    @Test(arguments: ["touch done", "touch done; kill -KILL $$"])
    func `a lock of another process is waited for until the process finishes or is killed`(ending: String) async throws
    {
        try await withIO { io, directory in
            let lock = directory.appending(path: "lock")
            let (input, output) = (Pipe(), Pipe())
            async let other = shell(
                "flock --no-fork lock sh -c 'echo held; read line; \(ending)'", in: directory, input, output)
            let said = try await output.fileHandleForReading.asyncRead(upToCount: 5, using: io)
            #expect(said == Data("held\n".utf8))
            await expectLocked { try await lock.withFileLock(.shared, timeout: .zero, using: io) {} }
            let pauses = Pauses()
            let waiting = Task {
                try await lock.withFileLock(using: io, pausing: { try await pauses.pause($0) }) {
                    #expect(names(in: directory).contains("done"))
                }
            }
            // The task has found the lock taken.
            _ = await pauses.next()
            put("go on\n", input.fileHandleForWriting.fileDescriptor)
            _ = try await other
            pauses.end()
            try await waiting.value
        }
    }
    #endif

    // MARK: Files that can't be locked

    @Test(arguments: [EOPNOTSUPP, ENOLCK, EINVAL, ENOSYS])
    func `if the file system has no locks, the body doesn't run`(number: CInt) async throws {
        try await withIO(calls: .failing(.lock, with: number)) { io, directory in
            let error = await expectFileError(.unsupported) {
                try await directory.appending(path: "lock").withFileLock(using: io) { Issue.record("ran") }
            }
            #expect(error?.systemError == number && error?.remedy != nil)
        }
    }

    @Test func `an interrupted lock is tried again, and any other error is thrown`() async throws {
        let interruptions = Guarded(3)
        var calls = SystemCalls.system
        calls.lock = { descriptor, operation in
            let left = interruptions.withLock {
                $0 -= 1; return $0
            }
            return left >= 0 ? -EINTR : SystemCalls.system.lock(descriptor, operation)
        }
        try await withIO(calls: calls) { io, directory in
            try await directory.appending(path: "lock").withFileLock(using: io) {}
        }
        try await withIO(calls: .failing(.lock, with: EIO)) { io, directory in
            await expectFileError(.inputOutput) {
                try await directory.appending(path: "lock").withFileLock(using: io) { Issue.record("ran") }
            }
        }
    }

    @Test func `links, directories, FIFOs and missing directories are refused without waiting`() async throws {
        try await withIO { io, directory in
            let target = directory.appending(path: "target")
            let link = directory.appending(path: "link")
            #expect(symlink(target.path, link.path) == 0)
            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            for kind in [FileLock.shared, .exclusive] {
                for (url, code) in [
                    (link, FileError.Code.tooManyLinks), (directory, .notRegularFile), (fifo, .notRegularFile),
                    (directory.appending(path: "none/lock"), .notFound), (URL(string: "http://a/b")!, .invalidPath),
                ] {
                    await expectFileError(code) { try await url.withFileLock(kind, using: io) { Issue.record("ran") } }
                }
            }
            #expect(names(in: directory) == ["fifo", "link"])
        }
    }

    @Test func `a lock file that is replaced while it is being locked is opened again`() async throws {
        let replacements = Guarded(2)
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.lock = { [real = calls.lock] descriptor, operation in
            let result = real(descriptor, operation)
            let replaces = replacements.withLock { left in
                left -= 1
                return left >= 0
            }
            if replaces,
                let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            {
                unlink(path)
            }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            let lock = directory.appending(path: "lock")
            try await lock.withFileLock(using: io) {
                #expect(names(in: directory) == ["lock"])
                #expect(log.count("create") == 3)
                let again = open(lock.path, O_RDWR)
                #expect(flock(again, LOCK_EX | LOCK_NB) == -1, "what is there is what is locked")
                close(again)
            }
        }
    }

    /// The calls of a process in which each locked file has a copy of its descriptor, as in a child between fork and exec.
    private func withCopiedDescriptors(_ body: (FileIO, URL) async throws -> Void) async throws {
        let copies = Guarded<[CInt]>([])
        var calls = SystemCalls.system
        calls.lock = { descriptor, operation in
            copies.withLock { $0.append(dup(descriptor)) }
            return SystemCalls.system.lock(descriptor, operation)
        }
        defer { for copy in copies.withLock({ $0 }) { close(copy) } }
        try await withIO(calls: calls, body)
        #expect(!copies.withLock { $0.isEmpty })
    }

    @Test func `the lock is released before the file is closed`() async throws {
        try await withCopiedDescriptors { io, directory in
            let lock = directory.appending(path: "lock")
            try await lock.withFileLock(using: io) {}
            try await lock.withFileLock(timeout: .zero, using: io) {}
        }
    }

    @Test func `a locked stream releases its lock when it is closed or published`() async throws {
        try await withCopiedDescriptors { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try await part.openForWriting(locked: true, using: io).close()
            let stream = try await part.openForWriting(locked: true, using: io)
            try await stream.publish(as: song)
            try await song.withFileLock(timeout: .zero, using: io) {}
        }
    }

    @Test func `a file that replaces another isn't locked`() async throws {
        try await withCopiedDescriptors { io, directory in
            let song = directory.appending(path: "song")
            try await pattern(3).asyncWrite(to: song, options: .init(temporaryName: "song.new"), using: io)
            try await song.withFileLock(timeout: .zero, using: io) {}
        }
    }

    @Test func `a file with a checkpoint releases its lock when it is closed`() async throws {
        try await withCopiedDescriptors { io, directory in
            let places = CheckpointedFile.Places(
                file: directory.appending(path: "song.part"), checkpoint: directory.appending(path: "song.state"),
                temporary: directory.appending(path: "song.new"))
            let opened = try await CheckpointedFile.openLocked(places, mode: .always, using: io)
            try await opened?.file.close(appending: [pattern(3)], durability: .none) { _ in Data("state".utf8) }
            #expect(try await CheckpointedFile.removeUnlessLocked(places, using: io))
            #expect(names(in: directory) == [])

            // A file with a second name is closed, and a new one is created.
            try pattern(3).write(to: places.file)
            try FileManager.default.linkItem(at: places.file, to: directory.appending(path: "song"))
            let second = try await CheckpointedFile.openLocked(places, mode: .always, using: io)
            #expect(second?.size == 0)
            await second?.file.discard()
        }
    }
}

private func number(in file: URL) -> Int? {
    Int(String(decoding: contents(of: file), as: UTF8.self).trimmingCharacters(in: .newlines))
}

/// Increments the number in a file many times.
private func count(in counter: URL, under lock: URL, times: Int, using io: FileIO) async throws {
    for _ in 0..<times {
        try await lock.withFileLock(using: io) {
            let number = number(in: counter) ?? -1000
            await suspendOnce()
            try Data("\(number + 1)".utf8).write(to: counter)
        }
    }
}

#if os(Linux)
private func expectStatus(
    _ status: Int32, of script: String, in directory: URL, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let found = try await shell(script, in: directory)
    #expect(found == status, "\(script)", sourceLocation: sourceLocation)
}

/// Runs a script in a directory and returns its exit status. A new thread waits for it: flock(1) may wait for this process.
private func shell(_ script: String, in directory: URL, _ input: Pipe? = nil, _ output: Pipe? = nil) async throws
    -> Int32
{
    try await offPool {
        Result {
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", script]
            process.currentDirectoryURL = directory
            if let input { process.standardInput = input }
            if let output { process.standardOutput = output }
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }
    }.get()
}
#endif
