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

/// The two ends of a pipe, which are closed on deallocation at the latest.
final class TestPipe: Sendable {
    private let ends: Guarded<(reading: CInt, writing: CInt)>

    init() {
        var ends: [CInt] = [-1, -1]
        // Child processes of other tests must not hold an end open.
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

@Suite(.timeLimit(.minutes(15))) struct `Waiting for descriptors` {
    @Test(arguments: Poller.allCases) func `a wait ends when there is something to read or the writer has closed`(
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

    @Test(arguments: Poller.allCases) func `a cancelled wait ends immediately, and the others continue`(poller: Poller)
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

    @Test(arguments: Poller.allCases) func `both directions of a descriptor are waited for separately`(
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

    @Test(arguments: Poller.allCases) func `a wait for both directions ends when the first is ready`(
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

    // In a child process: other tests would reuse the number.
    @Test func `a wait for a descriptor that is closed elsewhere ends`() async {
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
                        // poll(2) reports it as ready, and the read that follows gets the error.
                        _ = await wait.result
                    }
                }
            }
        }
    }

    @Test func `a task that waits for a reused number doesn't wait with the tasks of the old file`() async throws {
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

    @Test func `a wait for a number that now belongs to a regular file fails`() async throws {
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

    @Test(arguments: Poller.allCases) func `waiting for a number that isn't open fails immediately`(poller: Poller)
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

    @Test func `waiting for a regular file fails`() async throws {
        try await withIO { io, directory in
            let file = open(directory.appending(path: "file").path, O_RDWR | O_CREAT, 0o600)
            defer { close(file) }
            await expectFileError(.unsupported) { try await io.waitUntilReady(file, .reading, "file") }
        }
    }

    @Test(arguments: Poller.allCases) func `a shutdown ends all waits and the thread, and refuses later waits`(
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

// MARK: - The machine

struct `The machine of readiness` {
    private typealias Machine = ReadinessStateMachine<String>

    /// What the kernel knows from the machine.
    private struct Kernel {
        var armed: [CInt: ReadinessEntry] = [:]

        mutating func take(_ change: Machine.Change?) {
            switch change {
            case nil: break
            case .set(let entry, _): armed[entry.descriptor] = entry
            case .remove(let descriptor): armed[descriptor] = nil
            }
        }
    }

    @Test func `the first waiting task adds a registration, the next modifies it, and the last removes it`() {
        var machine = Machine()
        guard case .set(let first, isNew: true) = machine.wait(1, for: 7, .reading, watching: false, "a") else {
            Issue.record("not new")
            return
        }
        #expect(first.descriptor == 7 && first.readiness == .reading)
        let second = machine.wait(2, for: 7, .writing, watching: false, "b")
        #expect(
            second
                == .set(
                    ReadinessEntry(descriptor: 7, readiness: [.reading, .writing], token: first.token), isNew: false))
        let (woken, change) = machine.ready(ReadinessEntry(descriptor: 7, readiness: .reading, token: first.token))
        #expect(woken == ["a"])
        #expect(change == .set(ReadinessEntry(descriptor: 7, readiness: .writing, token: first.token), isNew: false))
        let left = machine.cancel(2)
        #expect(left?.0 == "b" && left?.1 == .remove(7))
        let again = machine.cancel(2)
        #expect(again == nil && machine.isEmpty)
    }

    @Test func `all tasks that wait for a direction are woken in order, and hanging up wakes both directions`() {
        for (readiness, expected) in [
            (Readiness.reading, ["a", "c"]), (.writing, ["b"]), (.hungUp, ["a", "b", "c"]), (.failed, ["a", "b", "c"]),
            ([.reading, .writing], ["a", "b", "c"]), ([], []),
        ] {
            var machine = Machine()
            var kernel = Kernel()
            kernel.take(machine.wait(1, for: 3, .reading, watching: false, "a"))
            kernel.take(machine.wait(2, for: 3, .writing, watching: false, "b"))
            kernel.take(machine.wait(3, for: 3, .reading, watching: false, "c"))
            var event = kernel.armed[3]!
            event.readiness = readiness
            #expect(machine.ready(event).ready == expected)
        }
    }

    @Test func `an event for a number that now belongs to another file wakes no task`() {
        var machine = Machine()
        var kernel = Kernel()
        kernel.take(machine.wait(1, for: 3, .reading, watching: false, "a"))
        let old = kernel.armed[3]!
        _ = machine.cancel(1)
        kernel.take(machine.wait(2, for: 3, .reading, watching: false, "b"))
        #expect(machine.ready(old).ready == [])
        #expect(machine.ready(kernel.armed[3]!).ready == ["b"])
    }

    @Test func `a task that joins a closed file's registration gets a new one, and the others get an error`() {
        var machine = Machine()
        var kernel = Kernel()
        kernel.take(machine.wait(1, for: 3, .reading, watching: true, "a"))
        let old = kernel.armed[3]!
        kernel.take(machine.wait(2, for: 3, .writing, watching: true, "b"))
        let (stale, change) = machine.replaced(3, by: 2)
        #expect(stale == ["a"])
        guard case .set(let renewed, isNew: true) = change else {
            Issue.record("\(String(describing: change))")
            return
        }
        #expect(renewed.readiness == .writing && renewed.token != old.token)
        #expect(machine.waiters == 1 && machine.isWatching)
        #expect(machine.cancel(2)?.0 == "b" && !machine.isWatching)
    }

    @Test func `a refused registration and the end wake all, and foreign descriptors are checked while awaited`() {
        var machine = Machine()
        _ = machine.wait(1, for: 3, .reading, watching: false, "a")
        _ = machine.wait(2, for: 4, .reading, watching: true, "b")
        _ = machine.wait(3, for: 5, .reading, watching: true, "c")
        #expect(Set(machine.checks().map(\.descriptor)) == [4, 5])
        #expect(machine.refused(4) == ["b"])
        #expect(machine.checks().map(\.descriptor) == [5])
        #expect(machine.refused(4) == [])
        #expect(machine.close() == ["a", "c"])
        #expect(machine.isEmpty && !machine.isWatching && machine.checks().isEmpty && machine.cancel(1) == nil)
    }

    @Test func `over random events no task is lost or woken wrongly, and only awaited descriptors are armed`() {
        for seed in 0..<100 {
            var random = SeededRandom(seed: UInt64(seed))
            var machine = Machine()
            var kernel = Kernel()
            // The waiting tasks, by id.
            var model: [(id: UInt64, descriptor: CInt, readiness: Readiness)] = []
            var next: UInt64 = 0
            for _ in 0..<200 {
                let descriptor = CInt(random.next() % 4)
                switch random.next() % 6 {
                case 0, 1, 2:
                    next += 1
                    let readiness: Readiness = random.next() % 2 == 0 ? .reading : .writing
                    kernel.take(
                        machine.wait(next, for: descriptor, readiness, watching: random.next() % 2 == 0, "\(next)"))
                    model.append((next, descriptor, readiness))
                case 3:
                    let id = random.next() % (next + 1)
                    let found = machine.cancel(id)
                    #expect(found?.0 == (model.contains { $0.id == id } ? "\(id)" : nil))
                    if let found { kernel.take(found.1) }
                    model.removeAll { $0.id == id }
                case 4:
                    let waiting = model.filter { $0.descriptor == descriptor }.map { "\($0.id)" }
                    #expect(machine.refused(descriptor) == waiting)
                    kernel.armed[descriptor] = nil
                    model.removeAll { $0.descriptor == descriptor }
                default:
                    guard var event = kernel.armed[descriptor] else { continue }
                    event.readiness = [Readiness.reading, .writing, .hungUp][Int(random.next() % 3)]
                    let hits = model.filter {
                        $0.descriptor == descriptor && (event.readiness == .hungUp || $0.readiness == event.readiness)
                    }
                    let (ready, change) = machine.ready(event)
                    #expect(ready == hits.map { "\($0.id)" })
                    kernel.take(change)
                    model.removeAll { entry in hits.contains { $0.id == entry.id } }
                }
                // Armed for everything that tasks wait for, and for nothing else.
                for descriptor in CInt(0)..<4 {
                    let wanted = model.filter { $0.descriptor == descriptor }
                    let armed = kernel.armed[descriptor]
                    #expect((armed == nil) == wanted.isEmpty)
                    for entry in wanted { #expect(armed?.readiness.isSuperset(of: entry.readiness) == true) }
                }
                #expect(machine.waiters == model.count)
            }
        }
    }
}

// MARK: - Faults

/// One failure of one call of the readiness lane.
private struct LaneFault: Sendable {
    var call: Call
    /// Which of the calls of that name fails.
    var ordinal: Int
    var error: CInt
}

/// The process at the other side of a FIFO. It acts when the lane makes a call, so that neither side depends on timing.
private final class OtherSide: Sendable {
    private enum Role { case rests, fills(CInt), empties(CInt) }

    private let role = Guarded(Role.rests)

    /// Writes three bytes when the lane's thread begins to wait for them.
    func fills(_ descriptor: CInt) { role.withLock { $0 = .fills(descriptor) } }

    /// Reads everything in the FIFO before each call of the lane.
    func empties(_ descriptor: CInt) { role.withLock { $0 = .empties(descriptor) } }

    func rests() { role.withLock { $0 = .rests } }

    /// Called on any thread of the engine, before the call is made. The descriptor is non-blocking.
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

@Suite(.enabled(if: deniedCalls == nil, "skipped: calls are denied here"), .timeLimit(.minutes(15)))
struct `Faults of the readiness lane` {
    private static let faults: [LaneFault] = Call.allCases.filter { $0.rawValue.hasPrefix("readiness.") }.flatMap {
        call in
        call.documentedErrors.flatMap { error in (0..<3).map { LaneFault(call: call, ordinal: $0, error: error) } }
    }

    /// Failures after which the lane continues: it retries, waits, or makes a different call.
    private static func isPassedOver(_ fault: LaneFault) -> Bool {
        switch (fault.call, fault.error) {
        case (_, EINTR), (.readinessRead, EAGAIN), (.readinessWrite, EAGAIN): true
        // The call has no non-blocking form. This doesn't apply to the reopened file.
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
        // An existing registration is modified instead, and here there is none.
        case (.readinessSetInterest, EEXIST): [EEXIST, ENOENT]
        // After half a second, the lane checks whether its descriptors were closed. These errors mean that one was.
        case (.readinessSetInterest, ENOENT), (.readinessSetInterest, EPERM), (.readinessFlags, _):
            [fault.error, EBADF]
        default: [fault.error]
        }
    }

    @Test(arguments: Poller.allCases)
    func `each fault is an error with its number or is tolerated, and nothing waits forever`(
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
                // Keeps both sides open, whatever fails.
                let holder = open(url.path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
                let reader = open(url.path, O_RDONLY | O_CLOEXEC)
                let writer = open(url.path, O_WRONLY | O_CLOEXEC)
                defer { for descriptor in [holder, reader, writer] { close(descriptor) } }
                // The caller's FIFO, which is reopened, waited for and read; then a full one.
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
        // The calls that open a path or a device, and the call of the other poller.
        unreached.subtract([.readinessSetFlags, .readinessCanBeWaitedFor, .readinessNow])
        // Without epoll, its calls aren't made. With epoll, poll's call is made if creating the queue fails.
        let epoll: Set<Call> = [.readinessSetInterest, .readinessRemoveInterest, .readinessWaitForEvents]
        #expect(unreached == (poller == .epoll ? [] : epoll))
    }

    @Test func `without epoll, the lane waits with poll and uses no more descriptors`() async throws {
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

    @Test func `if the lane couldn't start, the next wait tries again`() async throws {
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

    @Test func `without a thread, a wait fails with a remedy, and a later wait gets a thread`() async throws {
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
