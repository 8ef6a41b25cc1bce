import Foundation
import SluiceFiles
import TestSupport
import Testing

/// The ways to wait for many descriptors.
enum Poller: CaseIterable, Sendable {
    case epoll, poll

    var calls: SystemCalls {
        var calls = SystemCalls.system
        if self == .poll { calls.readiness.makeQueue = { -ENOSYS } }
        return calls
    }
}

/// The two ends of a pipe, closed when it goes unless that was done before.
final class TestPipe: Sendable {
    private let ends: Guarded<(reading: CInt, writing: CInt)>

    init() {
        var ends: [CInt] = [-1, -1]
        // No child process of another test holds an end of it open.
        precondition(pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
        self.ends = Guarded((ends[0], ends[1]))
    }

    var reading: CInt { ends.withLock { $0.reading } }
    var writing: CInt { ends.withLock { $0.writing } }

    func write(_ bytes: Data) {
        let descriptor = writing
        bytes.withUnsafeBytes { precondition(Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count) }
    }

    func closeReading() {
        ends.withLock {
            close($0.reading)
            $0.reading = -1
        }
    }

    func closeWriting() {
        ends.withLock {
            close($0.writing)
            $0.writing = -1
        }
    }

    deinit {
        ends.withLock { ends in
            for end in [ends.reading, ends.writing] where end >= 0 { close(end) }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct `Waiting for descriptors` {
    @Test(arguments: Poller.allCases) func `a wait ends when there is something to read, or the writer has gone`(
        poller: Poller
    ) async throws {
        try await withIO(calls: poller.calls) { io, _ in
            let pipe = TestPipe()
            let wait = Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            pipe.write(Data([1]))
            try await wait.value
            var byte: UInt8 = 0
            #expect(read(pipe.reading, &byte, 1) == 1)
            let next = Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            pipe.closeWriting()
            try await next.value
            #expect(
                io.statistics.readinessWaitingCount == 0 && io.statistics.finishedCount == 0
                    && io.statistics.threadCount == 1)
        }
    }

    @Test(arguments: Poller.allCases) func `a cancelled wait ends immediately, and leaves the others`(poller: Poller)
        async throws
    {
        try await withIO(calls: poller.calls) { io, _ in
            let pipe = TestPipe()
            let first = Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
            let second = Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 2 }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            #expect(io.statistics.readinessWaitingCount == 1)
            pipe.write(Data([1]))
            try await second.value
            second.cancel()
            await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) {
                    try await io.waitUntilReady(pipe.reading, .reading, "pipe")
                }
            }.value
        }
    }

    @Test(arguments: Poller.allCases) func `both directions of one descriptor are waited for apart`(
        poller: Poller
    ) async throws {
        try await withIO(calls: poller.calls) { io, _ in
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
            defer { for end in ends { close(end) } }
            let socket = ends[0]
            let reading = Task { try await io.waitUntilReady(socket, .reading, "socket") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            // It is writable immediately, while a task waits to read it.
            try await io.waitUntilReady(socket, .writing, "socket")
            #expect(io.statistics.readinessWaitingCount == 1)
            #expect(send(ends[1], "a", 1, 0) == 1)
            try await reading.value
        }
    }

    @Test(arguments: Poller.allCases) func `a wait for both directions ends with the first that is ready`(
        poller: Poller
    ) async throws {
        try await withIO(calls: poller.calls) { io, _ in
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
            defer { for end in ends { close(end) } }
            let socket = ends[0]
            try await io.waitUntilReady(socket, [.reading, .writing], "socket")
            // Fill it, so that it is ready for neither.
            let bytes = [UInt8](repeating: 0, count: 64 << 10)
            while send(socket, bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
            let toRead = Task { try await io.waitUntilReady(socket, [.reading, .writing], "socket") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            #expect(send(ends[1], "a", 1, 0) == 1)
            try await toRead.value
            var byte: UInt8 = 0
            #expect(recv(socket, &byte, 1, 0) == 1)
            let toWrite = Task { try await io.waitUntilReady(socket, [.reading, .writing], "socket") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            var room = [UInt8](repeating: 0, count: 1 << 20)
            while recv(ends[1], &room, room.count, CInt(MSG_DONTWAIT)) > 0 {}
            try await toWrite.value
        }
    }

    // In a child process: other tests would open the number again.
    @Test func `a descriptor that others close while it is waited for is not waited for forever`() async {
        await #expect(processExitsWith: .success) {
            for poller in Poller.allCases {
                try await withIO(calls: poller.calls) { io, _ in
                    let pipe = TestPipe()
                    let wait = Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe", watching: true) }
                    try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
                    pipe.closeReading()
                    if poller == .epoll {
                        let error = await expectFileError(.invalidArgument) { try await wait.value }
                        #expect(error?.systemError == EBADF && error?.subject == "pipe")
                    } else {
                        // poll(2) says that it is ready: the read that follows learns why.
                        _ = await wait.result
                    }
                }
            }
        }
    }

    @Test func `a task that waits for a reused number does not wait with those of the old file`()
        async throws
    {
        try await withIO { io, _ in
            let old = TestPipe()
            let number = old.reading
            let stale = Task { try await io.waitUntilReady(number, .reading, "old") }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            let new = TestPipe()
            // dup2 closes the old one and puts the new one there, in one step.
            #expect(dup2(new.reading, number) == number)
            let fresh = Task { try await io.waitUntilReady(number, .reading, "new") }
            let error = await expectFileError(.invalidArgument) { try await stale.value }
            #expect(error?.subject == "old")
            new.write(Data([1]))
            try await fresh.value
        }
    }

    @Test func `tasks that wait for a number that became a regular file's are told`() async throws {
        try await withIO { io, directory in
            let old = TestPipe()
            let number = old.reading
            let stale = Task { try await io.waitUntilReady(number, .reading, "old", watching: true) }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
            let file = open(directory.appending(path: "file").path, O_RDWR | O_CREAT, 0o600)
            #expect(dup2(file, number) == number)
            close(file)
            let error = await expectFileError(.invalidArgument) { try await stale.value }
            #expect(error?.systemError == EBADF)
        }
    }

    @Test(arguments: Poller.allCases) func `a number that is not open is an error immediately`(poller: Poller)
        async throws
    {
        try await withIO(calls: poller.calls) { io, _ in
            let error = await expectFileError(.invalidArgument) {
                try await io.waitUntilReady(1 << 20, .reading, "nothing")
            }
            #expect(error?.systemError == EBADF)
            #expect(io.statistics.readinessWaitingCount == 0)
        }
    }

    @Test func `a regular file cannot be waited for`() async throws {
        try await withIO { io, directory in
            let file = open(directory.appending(path: "file").path, O_RDWR | O_CREAT, 0o600)
            defer { close(file) }
            await expectFileError(.unsupported) { try await io.waitUntilReady(file, .reading, "file") }
        }
    }

    @Test(arguments: Poller.allCases) func `a shutdown ends all waits and the thread, and refuses later ones`(
        poller: Poller
    ) async throws {
        try await withIO(calls: poller.calls) { io, _ in
            let pipe = TestPipe()
            let waits = (0..<10).map { _ in Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe") } }
            try await io.waitForStatistics { $0.readinessWaitingCount >= 10 }
            #expect(io.statistics.threadCount == 1)
            await io.shutdown()
            #expect(io.statistics.threadCount == 0 && io.statistics.openCount == 0)
            for wait in waits { await expectFileError(.shutDown) { try await wait.value } }
            await expectFileError(.shutDown) { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
        }
    }

    @Test(arguments: Poller.allCases) func `a storm of waits, events and cancellations ends every wait`(
        poller: Poller
    ) async throws {
        try await withIO(calls: poller.calls) { io, _ in
            let pipes = (0..<20).map { _ in TestPipe() }
            let ended = await withTaskGroup(of: Bool.self) { group in
                for index in 0..<2000 {
                    group.addTask {
                        let pipe = pipes[index % 20]
                        let wait = Task { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
                        await suspend(times: index % 5)
                        if index % 40 < 20 { pipe.write(Data([1])) } else { wait.cancel() }
                        switch await wait.result {
                        case .success: return true
                        case .failure(let error): return error is CancellationError
                        }
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(ended == 2000)
            #expect(io.statistics.readinessWaitingCount == 0)
        }
    }
}
