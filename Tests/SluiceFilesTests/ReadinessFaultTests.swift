import Foundation
import SluiceFiles
import TestSupport
import Testing

/// One failure of one call of the readiness lane.
private struct LaneFault: Sendable {
    var call: Call
    /// Which of the calls of that name fails.
    var ordinal: Int
    var error: CInt
}

/// The process at the other side of a FIFO, which acts when the lane makes a call: neither side waits for a moment that the
/// other does not have.
private final class OtherSide: Sendable {
    private enum Role { case rests, fills(CInt), empties(CInt) }

    private let role = Guarded(Role.rests)

    /// Writes three bytes when the lane's thread begins to wait for them.
    func fills(_ descriptor: CInt) { role.withLock { $0 = .fills(descriptor) } }

    /// Reads all that is there before each call of the lane.
    func empties(_ descriptor: CInt) { role.withLock { $0 = .empties(descriptor) } }

    func rests() { role.withLock { $0 = .rests } }

    /// Called on any thread of the engine, before the call is made. The descriptor is not waited for.
    func act(before call: Call) {
        role.withLock { role in
            switch role {
            case .fills(let descriptor) where call == .readinessWaitForEvents || call == .readinessPoll:
                put("abc", descriptor)
                role = .rests
            case .empties(let descriptor):
                withUnsafeTemporaryAllocation(byteCount: 70_000, alignment: 1) { buffer in
                    _ = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
                }
            default: break
            }
        }
    }
}

@Suite(.enabled(if: deniedCalls == nil, "skipped: calls are denied here"), .timeLimit(.minutes(5)))
struct `Faults of the readiness lane` {
    private static let faults: [LaneFault] = Call.allCases.filter { $0.rawValue.hasPrefix("readiness.") }.flatMap {
        call in
        call.documentedErrors.flatMap { error in (0..<3).map { LaneFault(call: call, ordinal: $0, error: error) } }
    }

    /// Failures after which the lane continues: it tries again, waits, or uses another way.
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

    /// The error numbers that the caller may see after a failure.
    private static func numbers(of fault: LaneFault) -> [CInt?] {
        switch (fault.call, fault.error) {
        // What exists already is armed again, and here there is nothing of that kind.
        case (.readinessSetInterest, EEXIST): [EEXIST, ENOENT]
        // After half a second of waiting the lane looks whether its descriptors were closed: these say that of one.
        case (.readinessSetInterest, ENOENT), (.readinessSetInterest, EPERM), (.readinessFlags, _):
            [fault.error, EBADF]
        default: [fault.error]
        }
    }

    @Test(arguments: Poller.allCases)
    func `each is an error with its number, or is passed over; nothing waits forever`(
        poller: Poller
    ) async throws {
        let reached = Guarded<Set<Call>>([])
        for fault in Self.faults {
            let count = Guarded(0)
            let otherSide = OtherSide()
            let calls = poller.calls.intercepted { call in
                reached.withLock { _ = $0.insert(call) }
                otherSide.act(before: call)
                guard call == fault.call else { return nil }
                let ordinal = count.withLock { count in
                    count += 1
                    return count - 1
                }
                return ordinal == fault.ordinal ? fault.error : nil
            }
            try await withIO(concurrency: 1, calls: calls) { io, directory in
                let url = makeFIFO(directory)
                // Keeps both sides there, whatever fails.
                let holder = open(url.path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
                let reader = open(url.path, O_RDONLY | O_CLOEXEC)
                let writer = open(url.path, O_WRONLY | O_CLOEXEC)
                defer { for descriptor in [holder, reader, writer] { close(descriptor) } }
                // A FIFO of others, which is opened once more, waited for and read; then one that is full.
                otherSide.fills(holder)
                do {
                    let read = try await io.read(upToCount: 3, descriptor: reader, name: "\(directory.path)/fifo")
                    #expect(read.count == 3, "\(fault)")
                    otherSide.empties(holder)
                    try await io.write(pattern(70_000), descriptor: writer, name: "\(directory.path)/fifo")
                } catch let error as FileError {
                    #expect(Self.numbers(of: fault).contains(error.systemError), "\(fault): \(error)")
                    #expect(!Self.isPassedOver(fault), "\(fault): \(error)")
                    #expect(!error.operation.isEmpty && !error.subject.isEmpty)
                }
                otherSide.rests()
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
                try await io.waitForStatistics { $0.readinessWaitingCount >= 1 }
                #expect(io.statistics.openCount == 1)
                pipe.write(pattern(5))
                pipe.closeWriting()
                let data = try await read.value
                #expect(data == pattern(5))
            }
        }
    }

    @Test func `a lane that could not begin is tried again by the next wait`() async throws {
        let isFull = Guarded(true)
        var calls = SystemCalls.system
        calls.readiness.makeQueue = {
            isFull.withLock { $0 } ? -EMFILE : SystemCalls.system.readiness.makeQueue()
        }
        try await withIO(calls: calls) { io, _ in
            let pipe = TestPipe()
            await expectFileError(.tooManyOpenFiles) { try await io.waitUntilReady(pipe.reading, .reading, "pipe") }
            #expect(io.statistics.openCount == 0 && io.statistics.threadCount == 0)
            isFull.withLock { $0 = false }
            pipe.write(pattern(1))
            try await io.waitUntilReady(pipe.reading, .reading, "pipe")
        }
    }

    @Test func `without a thread a wait fails, and says what to do; a later one has another`() async throws {
        let hasThreads = Guarded(false)
        var calls = SystemCalls.system
        calls.startThread = { hasThreads.withLock { $0 } ? SystemCalls.system.startThread($0, $1) : -EAGAIN }
        try await withIO(calls: calls) { io, _ in
            let pipe = TestPipe()
            let error = await expectFileError(.exhausted) {
                try await io.waitUntilReady(pipe.reading, .reading, "pipe")
            }
            #expect(error?.systemError == EAGAIN && error?.remedy?.contains("threads") == true)
            #expect(io.statistics.openCount == 0 && io.statistics.threadCount == 0)
            hasThreads.withLock { $0 = true }
            pipe.write(pattern(1))
            try await io.waitUntilReady(pipe.reading, .reading, "pipe")
        }
    }
}
