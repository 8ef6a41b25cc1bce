import Foundation
import SluiceFiles
import Synchronization
import Testing

/// One failure of one call of the readiness lane.
private struct LaneFault: Sendable {
    var call: Call
    /// Which of the calls of that name fails.
    var ordinal: Int
    var error: CInt
}

@Suite(.serialized, .enabled(if: deniedCalls == nil, "skipped: calls are denied here"), .timeLimit(.minutes(5)))
struct `Faults of the readiness lane` {
    private static let faults: [LaneFault] = Call.allCases.filter { $0.rawValue.hasPrefix("readiness.") }.flatMap {
        call in
        call.documentedErrors.flatMap { error in (0..<3).map { LaneFault(call: call, ordinal: $0, error: error) } }
    }

    /// Failures after which it goes on: tried again, waited for, or done in another way.
    private static func isPassedOver(_ fault: LaneFault) -> Bool {
        switch (fault.call, fault.error) {
        case (_, EINTR), (.readinessRead, EAGAIN), (.readinessWrite, EAGAIN): true
        // Of a call that has no form without waiting; not of the file that was opened once more.
        case (.readinessRead, EOPNOTSUPP), (.readinessWrite, EOPNOTSUPP): fault.ordinal == 0
        case (.readinessMakeQueue, ENOSYS), (.readinessMakeQueue, EPERM): true
        case (.readinessRemoveInterest, _), (.readinessReopen, _): true
        case (.readinessSetFlags, _), (.readinessCanBeWaitedFor, _): true
        default: false
        }
    }

    @Test(arguments: Poller.allCases)
    func `each is an error with its number, or is passed over; nothing waits for ever`(
        poller: Poller
    ) async throws {
        let reached = Mutex<Set<Call>>([])
        for fault in Self.faults {
            let count = Mutex(0)
            let calls = poller.calls.intercepted { call in
                reached.withLock { _ = $0.insert(call) }
                guard call == fault.call else { return nil }
                let ordinal = count.withLock { count in
                    count += 1
                    return count - 1
                }
                return ordinal == fault.ordinal ? fault.error : nil
            }
            try await withIO(threads: 1, calls: calls) { io, folder in
                let url = makeFIFO(folder)
                // Keeps both sides there, whatever fails.
                let holder = open(url.path, O_RDWR | O_NONBLOCK)
                let reader = open(url.path, O_RDONLY)
                let writer = open(url.path, O_WRONLY)
                defer { for descriptor in [holder, reader, writer] { close(descriptor) } }
                // A FIFO of others, which is opened once more, waited for and read; then one that is full.
                let hasEnded = Mutex(false)
                let task = Task { () async throws -> Int in
                    defer { hasEnded.withLock { $0 = true } }
                    let read = try await io.read(upToCount: 3, fromDescriptor: reader, name: "\(folder.path)/fifo")
                    try await io.write(pattern(70_000), toDescriptor: writer, name: "\(folder.path)/fifo")
                    return read.count
                }
                while io.metrics.readinessWaits < 1, !hasEnded.withLock({ $0 }) { await Task.yield() }
                put("abc", holder)
                var buffer = [UInt8](repeating: 0, count: 70_000)
                while !hasEnded.withLock({ $0 }) {
                    // Takes what is written, but not what the task is to read.
                    if io.metrics.completions.readiness > 0 { _ = Foundation.read(holder, &buffer, buffer.count) }
                    await Task.yield()
                }
                switch await task.result {
                case .success(let count): #expect(count == 3, "\(fault)")
                case .failure(let error as FileError):
                    // What exists already is armed anew, and here there is nothing of that kind.
                    let isNone = error.systemError == ENOENT && fault.error == EEXIST
                    #expect(error.systemError == fault.error || isNone, "\(fault): \(error)")
                    #expect(!Self.isPassedOver(fault), "\(fault): \(error)")
                    #expect(!error.operation.isEmpty && !error.path.isEmpty)
                case .failure(let error): Issue.record("\(fault): \(error)")
                }
            }
        }
        let lane = Call.allCases.filter { $0.rawValue.hasPrefix("readiness.") }
        var unreached = Set(lane).subtracting(reached.withLock { $0 })
        // Those of opening a path or a device, and of the other poller.
        unreached.subtract([.readinessSetFlags, .readinessCanBeWaitedFor, .readinessNow])
        // Without epoll its calls are not made; with it, poll's is, where making the queue fails.
        let epoll: Set<Call> = [.readinessSetInterest, .readinessRemoveInterest, .readinessWaitForEvents]
        #expect(unreached == (poller == .epoll ? [] : epoll))
    }

    @Test func `without epoll the lane waits with poll, and uses as few descriptors`() async throws {
        for error in [ENOSYS, EPERM, EACCES] {
            var calls = SystemCalls.system
            calls.readiness.makeQueue = { -error }
            try await withIO(calls: calls) { io, _ in
                let pipe = TestPipe()
                let read = Task { try await io.readToEnd(descriptor: pipe.reading, name: "pipe") }
                while io.metrics.readinessWaits < 1 { await Task.yield() }
                #expect(io.metrics.openFiles == 1)
                pipe.write(pattern(5))
                pipe.closeWriting()
                let data = try await read.value
                #expect(data == pattern(5))
            }
        }
    }

    @Test func `a lane that could not begin is tried again by the next wait`() async throws {
        let isFull = Mutex(true)
        var calls = SystemCalls.system
        calls.readiness.makeQueue = {
            isFull.withLock { $0 } ? -EMFILE : SystemCalls.system.readiness.makeQueue()
        }
        try await withIO(calls: calls) { io, _ in
            let pipe = TestPipe()
            await expectFileError(.tooManyOpenFiles) { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
            #expect(io.metrics.openFiles == 0 && io.metrics.threads == 0)
            isFull.withLock { $0 = false }
            pipe.write(pattern(1))
            try await io.waitUntilReady(pipe.reading, .reading, "pipe")
        }
    }

    @Test func `without a thread a wait fails, and says what to do; a later one has another`() async throws {
        let hasThreads = Mutex(false)
        var calls = SystemCalls.system
        calls.startThread = { hasThreads.withLock { $0 } ? SystemCalls.system.startThread($0, $1) : -EAGAIN }
        try await withIO(calls: calls) { io, _ in
            let pipe = TestPipe()
            let error = await expectFileError(.exhausted) {
                try await io.waitUntilReady(pipe.reading, .reading, "pipe")
            }
            #expect(error?.systemError == EAGAIN && error?.remedy?.contains("threads") == true)
            #expect(io.metrics.openFiles == 0 && io.metrics.threads == 0)
            hasThreads.withLock { $0 = true }
            pipe.write(pattern(1))
            try await io.waitUntilReady(pipe.reading, .reading, "pipe")
        }
    }
}
