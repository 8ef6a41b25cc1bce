import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Random access faults` {
    /// An operation, the call in it that fails, and the operation's name in the error.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var operation: String
        var fail: @Sendable (inout SystemCalls, CInt) -> Void
        var run: @Sendable (RandomAccessFile) async throws -> Void
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(
            name: "pread", operation: "read",
            fail: { calls, n in
                calls.inline = .missing
                calls.randomAccess.readAt = { _, _, _ in -Int(n) }
            },
            run: { _ = try await $0.read(at: 0, upToCount: 10) }),
        Case(
            name: "pread into memory", operation: "read",
            fail: { calls, n in
                calls.inline = .missing
                calls.randomAccess.readAt = { _, _, _ in -Int(n) }
            },
            run: {
                var memory: [UInt8] = [1, 2]
                var span = memory.mutableSpan
                var bytes = span.mutableBytes
                _ = try await $0.read(at: 0, into: &bytes)
            }),
        Case(
            name: "fstat before a large pread", operation: "read the status of",
            fail: { calls, n in
                // The first call is part of the open.
                let isFirst = Guarded(true)
                calls.statusOfDescriptor = { descriptor, status in
                    let isFirst = isFirst.withLock { first in
                        defer { first = false }
                        return first
                    }
                    return isFirst ? SystemCalls.system.statusOfDescriptor(descriptor, &status) : -n
                }
            },
            run: { _ = try await $0.read(at: 0, upToCount: 10 << 20) }),
        Case(
            name: "pwrite", operation: "write",
            fail: { calls, n in calls.randomAccess.writeAt = { _, _, _ in -Int(n) } },
            run: { try await $0.write(pattern(10), at: 0) }),
        Case(
            name: "pwrite of a span", operation: "write",
            fail: { calls, n in calls.randomAccess.writeAt = { _, _, _ in -Int(n) } },
            run: { try await $0.write(Array(pattern(10)).span.bytes, at: 0) }),
        Case(
            name: "ftruncate", operation: "truncate", fail: { calls, n in calls.truncate = { _, _ in -n } },
            run: { try await $0.truncate(to: 10) }),
        Case(
            name: "fallocate", operation: "preallocate space in",
            fail: { calls, n in calls.randomAccess.preallocate = { _, _, _, _ in -n } },
            run: { try await $0.preallocate(0..<10) }),
        Case(
            name: "fallocate of a hole", operation: "punch a hole in",
            fail: { calls, n in calls.randomAccess.punchHole = { _, _, _ in -n } },
            run: { try await $0.punchHole(0..<10) }),
        Case(
            name: "fadvise", operation: "advise the system about",
            fail: { calls, n in calls.randomAccess.adviseFile = { _, _, _, _ in -n } },
            run: { try await $0.advise(.random) }),
        Case(
            name: "fsync", operation: "sync", fail: { calls, n in calls.sync = { _ in -n } },
            run: { try await $0.sync() }),
        Case(
            name: "fdatasync", operation: "sync", fail: { calls, n in calls.syncData = { _ in -n } },
            run: { try await $0.sync(.data) }),
    ]

    static let numbers: [CInt] = [
        EIO, ENOSPC, EDQUOT, EFBIG, EINVAL, EISDIR, ENOMEM, EOPNOTSUPP, ENOSYS, ESPIPE, EAGAIN,
    ]

    @Test(arguments: cases, numbers)
    func `each failed call is an error with its operation, path and number`(_ fault: Case, number: CInt) async throws {
        var calls = SystemCalls.system
        fault.fail(&calls, number)
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100).write(to: url)
            let file = try await url.openForRandomAccess(.readWrite, using: io)
            do {
                try await fault.run(file)
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.operation == fault.operation && error.subject == url.path)
                #expect(error.systemError == number && error.bytesWritten == 0)
            }
            try await file.close()
        }
    }

    @Test func `an open that fails at any step leaves nothing open`() async throws {
        var openFails = SystemCalls.system
        openFails.open = { _, _, _ in -EMFILE }
        var statusFails = SystemCalls.system
        statusFails.statusOfDescriptor = { _, _ in -EIO }
        for (calls, number) in [(openFails, EMFILE), (statusFails, EIO)] {
            try await withIO(calls: calls) { io, directory in
                do {
                    _ = try await directory.appending(path: "a").openForRandomAccess(
                        .createIfMissing, using: io)
                    Issue.record("nothing was thrown")
                } catch let error as FileError {
                    #expect(error.systemError == number)
                }
                #expect(io.statistics.openCount == 0)
            }
        }
    }

    @Test func `interrupted calls are made again`() async throws {
        let calls = Guarded<[String: Int]>([:])
        @Sendable func interrupted(_ name: String) -> Bool {
            calls.withLock {
                $0[name, default: 0] += 1
                return $0[name]! % 3 != 0
            }
        }
        let real = SystemCalls.system
        var interrupting = real
        interrupting.randomAccess.preallocate = {
            interrupted("preallocate") ? -EINTR : real.randomAccess.preallocate($0, $1, $2, $3)
        }
        interrupting.randomAccess.punchHole = {
            interrupted("punchHole") ? -EINTR : real.randomAccess.punchHole($0, $1, $2)
        }
        interrupting.randomAccess.adviseFile = {
            interrupted("advise") ? -EINTR : real.randomAccess.adviseFile($0, $1, $2, $3)
        }
        interrupting.truncate = { interrupted("truncate") ? -EINTR : real.truncate($0, $1) }
        try await withIO(calls: interrupting) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                try await file.preallocate(0..<10)
                try await file.punchHole(0..<10)
                try await file.advise(.random)
                try await file.truncate(to: 3)
                #expect(try await file.size == 3)
            }
            #expect(calls.withLock { $0.values.allSatisfy { $0 == 3 } && $0.count == 4 })
        }
    }

    @Test func `a failed write reports how many bytes were written, and a write of no bytes fails`() async throws {
        let attempts = Guarded(0)
        var calls = SystemCalls.system
        calls.randomAccess.writeAt = { descriptor, bytes, offset in
            let attempt = attempts.withLock {
                $0 += 1; return $0
            }
            switch attempt {
            case 3: return -Int(ENOSPC)
            case 4: return 0
            default:
                return RandomAccessCalls.system.writeAt(
                    descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(1000)), offset)
            }
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                var error = await expectFileError(.noSpace) { try await file.write(pattern(3000), at: 50) }
                #expect(error?.bytesWritten == 2000)
                #expect(same(contents(of: url), Data(count: 50) + pattern(2000)))
                error = await expectFileError(.inputOutput) { try await file.write(pattern(1), at: 0) }
                #expect(error?.bytesWritten == 0)
            }
        }
    }

    @Test func `if preallocation isn't supported, nothing is written instead`() async throws {
        let writes = Guarded(0)
        var calls = SystemCalls.system
        calls.randomAccess.preallocate = { _, _, _, _ in -EOPNOTSUPP }
        calls.randomAccess.writeAt = { _, bytes, _ in
            writes.withLock { $0 += 1 }
            return bytes.count
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                let error = await expectFileError(.unsupported) { try await file.preallocate(0..<4096) }
                #expect(error?.remedy?.contains("in advance") == true)
                #expect(try await file.size == 0)
                #expect(writes.withLock { $0 } == 0)
            }
        }
    }

    @Test func `a cancelled task starts no operation`() async throws {
        let touched = Guarded(0)
        var calls = SystemCalls.system
        calls.inline = .missing
        calls.randomAccess.readAt = { _, _, _ in
            touched.withLock { $0 += 1 }
            return 0
        }
        calls.randomAccess.writeAt = { _, bytes, _ in
            touched.withLock { $0 += 1 }
            return bytes.count
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            let file = try await url.openForRandomAccess(.createIfMissing, using: io)
            await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) { try await file.read(at: 0, upToCount: 1) }
                await #expect(throws: CancellationError.self) { try await file.write(pattern(1), at: 0) }
                await #expect(throws: CancellationError.self) { try await file.size }
                await #expect(throws: CancellationError.self) { try await file.truncate(to: 5) }
                await #expect(throws: CancellationError.self) { try await url.openForRandomAccess(using: io) }
            }.value
            #expect(try await file.size == 0)
            #expect(touched.withLock { $0 } == 0)
            try await file.close()
        }
    }

    /// Transfers ten bytes at a time; in the second transfer, cancels the task that waits for it.
    private func cancelsInSecondTransfer(
        _ body: @escaping @Sendable (RandomAccessFile) async throws -> Int
    ) async throws -> (result: Result<Int, any Error>, transfers: Int) {
        let gate = ThreadGate()
        let task = Guarded<Task<Int, any Error>?>(nil)
        let transfers = Guarded(0)
        @Sendable func transfer(_ count: Int) -> Int {
            if transfers.withLock({
                $0 += 1; return $0
            }) == 2 {
                gate.pass()
                task.withLock { $0 }?.cancel()
            }
            return min(count, 10)
        }
        var calls = SystemCalls.system
        calls.inline = .missing
        calls.randomAccess.readAt = { _, buffer, _ in transfer(buffer.count) }
        calls.randomAccess.writeAt = { _, bytes, _ in transfer(bytes.count) }
        var result: Result<Int, any Error> = .success(-1)
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                let operation = Task { try await body(file) }
                await gate.waitForThreads(1)
                task.withLock { $0 = operation }
                gate.open()
                result = await operation.result
            }
        }
        return (result, transfers.withLock { $0 })
    }

    @Test func `cancellation stops a long read between two system calls, but not a long write`() async throws {
        var (result, transfers) = try await cancelsInSecondTransfer { try await $0.read(at: 0, upToCount: 100).count }
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(transfers == 2)

        (result, transfers) = try await cancelsInSecondTransfer { file async throws in
            var memory = [UInt8](repeating: 0, count: 100)
            var span = memory.mutableSpan
            var bytes = span.mutableBytes
            return try await file.read(at: 0, into: &bytes)
        }
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(transfers == 2)

        (result, transfers) = try await cancelsInSecondTransfer { file async throws in
            try await file.write(pattern(100), at: 0)
            return 100
        }
        #expect(try result.get() == 100)
        #expect(transfers == 10)

        // The last transfer is the one that was cancelled: its bytes count.
        (result, transfers) = try await cancelsInSecondTransfer { try await $0.read(at: 0, upToCount: 20).count }
        #expect(try result.get() == 20)
    }
}

// MARK: - Closing

/// The descriptors that are open and in use, as the kernel sees them, and any wrong use of others.
private final class Ledger: Sendable {
    private struct State {
        var uses: [CInt: Int] = [:]
        var violations: [String] = []
        var closed = 0
    }

    private let state = Guarded(State())

    var violations: [String] { state.withLock { $0.violations } }
    var closed: Int { state.withLock { $0.closed } }

    /// The kernel, observed. `during` runs inside each operation on a descriptor.
    func calls(during: @escaping @Sendable () -> Void = {}) -> SystemCalls {
        let real = SystemCalls.system
        var calls = real
        calls.open = { [self] path, flags, mode in
            let descriptor = real.open(path, flags, mode)
            if descriptor >= 0 { state.withLock { $0.uses[descriptor] = 0 } }
            return descriptor
        }
        calls.close = { [self] descriptor in
            state.withLock {
                switch $0.uses.removeValue(forKey: descriptor) {
                case nil: $0.violations.append("closed twice")
                case 0: $0.closed += 1
                default: $0.violations.append("closed in use")
                }
            }
            return real.close(descriptor)
        }
        @Sendable func use<R>(_ descriptor: CInt, _ body: () -> R) -> R {
            state.withLock {
                if $0.uses[descriptor] == nil { $0.violations.append("used after close") }
                $0.uses[descriptor]? += 1
            }
            defer { state.withLock { $0.uses[descriptor]? -= 1 } }
            during()
            return body()
        }
        calls.inline = .missing
        calls.randomAccess.readAt = { d, buffer, offset in use(d) { real.randomAccess.readAt(d, buffer, offset) } }
        calls.randomAccess.writeAt = { d, bytes, offset in use(d) { real.randomAccess.writeAt(d, bytes, offset) } }
        calls.truncate = { d, size in use(d) { real.truncate(d, size) } }
        calls.statusOfDescriptor = { d, status in use(d) { real.statusOfDescriptor(d, &status) } }
        calls.syncData = { d in use(d) { real.syncData(d) } }
        return calls
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Random access close` {
    @Test func `closing waits for running and queued operations, and refuses later ones`() async throws {
        let gate = ThreadGate()
        let ledger = Ledger()
        let isArmed = Guarded(false)
        try await withIO(concurrency: 1, calls: ledger.calls { if isArmed.withLock({ $0 }) { gate.pass() } }) {
            io, directory in
            let url = directory.appending(path: "file")
            try pattern(1000).write(to: url)
            let file = try await url.openForRandomAccess(.readWrite, using: io)
            isArmed.withLock { $0 = true }
            let running = Task { try await file.read(at: 0, upToCount: 10) }
            await gate.waitForThreads(1)
            let queued = Task { try await file.read(at: 10, upToCount: 10) }
            try await io.waitForStatistics { $0.waitingCount >= 1 }

            let log = CallLog()
            // Each of these runs here until it waits.
            let closes = (0..<3).map { _ in
                Task.immediate {
                    try await file.close()
                    log.add("closed")
                }
            }
            let begins = await begins(file)
            #expect(!begins)
            #expect(log.all == [] && ledger.closed == 0)

            gate.open()
            #expect(same(try await running.value, pattern(1000)[0..<10]))
            #expect(same(try await queued.value, pattern(1000)[10..<20]))
            for close in closes { try await close.value }
            #expect(ledger.closed == 1)
            #expect(ledger.violations == [])
            try await file.close()

            // Every operation, each with its verb.
            let verbs = await [
                expectFileError(.invalidArgument) { try await file.read(at: 0, upToCount: 1) },
                expectFileError(.invalidArgument) { try await file.write(pattern(1), at: 0) },
                expectFileError(.invalidArgument) { try await file.write(Array(pattern(1)).span.bytes, at: 0) },
                expectFileError(.invalidArgument) { try await file.size },
                expectFileError(.invalidArgument) { try await file.truncate(to: 0) },
                expectFileError(.invalidArgument) { try await file.preallocate(0..<1) },
                expectFileError(.invalidArgument) { try await file.punchHole(0..<1) },
                expectFileError(.invalidArgument) { try await file.advise(.random) },
                expectFileError(.invalidArgument) { try await file.sync() },
                expectFileError(.invalidArgument) {
                    var memory: [UInt8] = [0]
                    var span = memory.mutableSpan
                    var bytes = span.mutableBytes
                    return try await file.read(at: 0, into: &bytes)
                },
            ]
            #expect(
                verbs.map { $0?.operation } == [
                    "read", "write", "write", "read the status of", "truncate", "preallocate space in",
                    "punch a hole in", "advise the system about", "sync", "read",
                ])
            #expect(verbs.allSatisfy { $0?.remedy?.contains("closed") == true && $0?.subject == url.path })
            #expect(same(contents(of: url), pattern(1000)))
        }
    }

    /// Whether the file lets an operation begin.
    private func begins(_ file: RandomAccessFile) async -> Bool {
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            do {
                _ = try await file.read(at: 0, upToCount: 1)
                return true
            } catch {
                return error is CancellationError
            }
        }.value
    }

    @Test func `no descriptor is used or closed wrongly while many tasks race with a close`() async throws {
        let ledger = Ledger()
        try await withIO(concurrency: 4, calls: ledger.calls(), in: memoryDirectory) { io, directory in
            var ended = 0
            for round in 0..<100 {
                let url = directory.appending(path: "\(round)")
                try pattern(5000).write(to: url)
                let file = try await url.openForRandomAccess(.readWrite, using: io)
                ended += try await withThrowingTaskGroup(of: Int.self) { group in
                    for index in 0..<24 {
                        group.addTask {
                            var random = SeededRandom(seed: UInt64(round * 24 + index))
                            var done = 0
                            await suspend(times: Int.random(in: 0..<4, using: &random))
                            if index % 8 == 0 {
                                try await file.close()
                                return 0
                            }
                            let cancels = index % 8 == 1
                            let task = Task {
                                if cancels { withUnsafeCurrentTask { $0?.cancel() } }
                                while true {
                                    switch random.next() % 4 {
                                    case 0: _ = try await file.read(at: 100, upToCount: 50)
                                    case 1: try await file.write(pattern(10), at: 4000)
                                    case 2: _ = try await file.size
                                    default: try await file.sync(.data)
                                    }
                                    done += 1
                                }
                                return done
                            }
                            switch await task.result {
                            case .success: Issue.record("it never ends well")
                            case .failure(let error):
                                let isExpected =
                                    error is CancellationError || (error as? FileError)?.systemError == EBADF
                                #expect(isExpected, "\(error)")
                            }
                            return 1
                        }
                    }
                    return try await group.reduce(0, +)
                }
            }
            #expect(ended == 100 * 21)
            #expect(ledger.violations == [])
            #expect(ledger.closed == 100)
        }
    }

    @Test func `close reports the error of close(2) to the first caller, and closes anyway`() async throws {
        try await withIO(calls: .failing(.close, with: EDQUOT)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1).write(to: url)
            let file = try await url.openForRandomAccess(using: io)
            let error = await expectFileError(.quotaExceeded) { try await file.close() }
            #expect(error?.operation == "close" && error?.subject == url.path)
            #expect(io.statistics.openCount == 0)
            try await file.close()
            await expectFileError(.quotaExceeded) { try await url.withRandomAccessFile(using: io) { _ in } }
        }
    }

    @Test func `a scope closes even if its body throws, and the body's error is thrown`() async throws {
        struct Mine: Error {}
        try await withIO(calls: .failing(.close, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1).write(to: url)
            await #expect(throws: Mine.self) { try await url.withRandomAccessFile(using: io) { _ in throw Mine() } }
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `closing continues when the task is cancelled, even while it waits`() async throws {
        let gate = ThreadGate()
        let ledger = Ledger()
        let isArmed = Guarded(false)
        try await withIO(concurrency: 1, calls: ledger.calls { if isArmed.withLock({ $0 }) { gate.pass() } }) {
            io, directory in
            let url = directory.appending(path: "file")
            try pattern(1).write(to: url)
            let file = try await url.openForRandomAccess(using: io)
            isArmed.withLock { $0 = true }
            let running = Task { try await file.read(at: 0, upToCount: 1) }
            await gate.waitForThreads(1)
            let close = Task.immediate {
                withUnsafeCurrentTask { $0?.cancel() }
                try await file.close()
            }
            let begins = await begins(file)
            #expect(!begins)
            gate.open()
            try await close.value
            #expect(try await running.value.count == 1)
            #expect(ledger.closed == 1 && ledger.violations == [])
        }
    }

    @Test func `a dropped file is closed on a worker`() async throws {
        let closers = Guarded<[String]>([])
        var calls = SystemCalls.system
        calls.close = { descriptor in
            closers.withLock { $0.append(nameOfThisThread()) }
            return SystemCalls.system.close(descriptor)
        }
        let io = FileIO(configuration: .init(concurrency: 1), calls: calls)
        try await FileIO.shared.withTemporaryDirectory { directory in
            let url = directory.appending(path: "file")
            do {
                let file = try await url.openForRandomAccess(.createIfMissing, using: io)
                try await file.write(pattern(3), at: 0)
            }
            await io.shutdown()
            #expect(io.statistics.openCount == 0)
            #expect(closers.withLock { $0 } == ["sluice-files"])
        }
    }

    @Test func `after a shutdown, operations fail and close still closes`() async throws {
        try await withIO { io, directory in
            let file = try await directory.appending(path: "a").openForRandomAccess(
                .createIfMissing, using: io)
            await io.shutdown()
            await expectFileError(.shutDown) { try await file.size }
            try await file.close()
            #expect(io.statistics.openCount == 0)
        }
    }
}

// MARK: - The machine

struct RandomAccessUse {
    /// All interleavings of a few events, without tasks. The descriptor is closed once, when nothing uses it, and all waiting tasks
    /// are woken.
    @Test func `in every order, the descriptor is closed once and all waiting tasks are woken`() {
        enum Event: CaseIterable { case begin, end, close, closed }
        func explore(_ use: DescriptorUse<Int>, _ model: Model, depth: Int) {
            if depth == 0 { return }
            for event in Event.allCases {
                var (use, model) = (use, model)
                switch event {
                case .begin:
                    let began = use.begin()
                    #expect(began == !model.isClosing)
                    if began { model.running += 1 }
                case .end:
                    guard model.running > 0 else { continue }
                    model.running -= 1
                    if let woken = use.end() {
                        #expect(model.running == 0)
                        model.give(.close, to: woken)
                    }
                case .close:
                    guard model.waiters < 3 else { continue }
                    model.isClosing = true
                    model.waiters += 1
                    if let turn = use.close(model.waiters) { model.give(turn, to: model.waiters) }
                case .closed:
                    guard model.turns.values.contains(.close), !model.isClosed else { continue }
                    #expect(model.running == 0)
                    model.isClosed = true
                    for woken in use.closed() { model.give(.nothing, to: woken) }
                }
                // No task is forgotten: a waiting task waits for an operation, or for the closing task.
                #expect(model.turns.values.count { $0 == .close } <= 1)
                if model.isClosing && model.running == 0 { #expect(model.turns.values.contains(.close)) }
                if model.isClosed { #expect(model.turns.count == model.waiters) }
                explore(use, model, depth: depth - 1)
            }
        }
        explore(DescriptorUse(), Model(), depth: 9)
    }

    private struct Model {
        var running = 0
        var waiters = 0
        var isClosing = false
        var isClosed = false
        var turns: [Int: ClosingTurn] = [:]

        mutating func give(_ turn: ClosingTurn, to waiter: Int) {
            #expect(turns.updateValue(turn, forKey: waiter) == nil, "woken twice")
        }
    }
}
