import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct Chunks {
    // MARK: Contents

    @Test(arguments: [0, 1, 2, 7])
    func `the chunks contain the file's bytes, for any size of file and chunk`(readAhead: Int) async throws {
        try await withIO { io, directory in
            for count in [0, 1, 15, 16, 17, 999, 1000, 1001, 70_000] {
                let url = directory.appending(path: "\(count)")
                try pattern(count).write(to: url)
                for size in [1, 16, 1000, 4096, 1 << 20] where count / size < 2000 {
                    var chunks: [Data] = []
                    for try await chunk in url.chunks(of: size, readAhead: readAhead, using: io) {
                        chunks.append(chunk)
                    }
                    #expect(io.statistics.openCount == 0, "closed before the end is told")
                    #expect(chunks.dropLast().allSatisfy { $0.count == size })
                    #expect(chunks.last.map { (1...size).contains($0.count) } != false)
                    #expect(same(chunks.reduce(into: Data()) { $0 += $1 }, pattern(count)), "\(count) by \(size)")
                }
            }
        }
    }

    @Test func `each iteration of a path opens the file again`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            let chunks = url.chunks(of: 4, using: io)
            for _ in 1...2 {
                var all = Data()
                for try await chunk in chunks { all += chunk }
                #expect(all == pattern(10))
            }
        }
    }

    @Test func `an iterator keeps returning nil after the end`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(3).write(to: url)
            var iterator = url.chunks(using: io).makeAsyncIterator()
            #expect(try await iterator.next() == pattern(3))
            for _ in 1...3 { #expect(try await iterator.next() == nil) }
            #expect(io.statistics.finishedCount == 1, "a small file is one job: open, read, close")
        }
    }

    @Test func `a file in /proc, which reports no size, is read whole and without read-ahead`() async throws {
        let reads = Reads()
        try await withIO(calls: reads.calls()) { io, _ in
            let url = URL(filePath: "/proc/self/status")
            var iterator = url.chunks(of: 100, readAhead: 3, using: io).makeAsyncIterator()
            var all = try await iterator.next()!
            try await io.waitForStatistics { $0.runningCount + $0.waitingCount == 0 }
            #expect(reads.soFar == 1)
            while let chunk = try await iterator.next() { all += chunk }
            #expect(all.starts(with: Data("Name:".utf8)))
            #expect(all.last == UInt8(ascii: "\n"))
        }
    }

    // MARK: Read-ahead

    /// Counts reads, and lets the test wait for them.
    private final class Reads: Sendable {
        private let log = AsyncStream.makeStream(of: Int.self)
        private let count = Guarded(0)

        var soFar: Int { count.withLock { $0 } }

        func calls(_ before: @escaping @Sendable (Int) -> Int? = { _ in nil }) -> SystemCalls {
            var calls = SystemCalls.system
            calls.inline = .missing
            calls.read = { [self] descriptor, buffer in
                let number = count.withLock {
                    $0 += 1; return $0
                }
                let result = before(number) ?? SystemCalls.system.read(descriptor, buffer)
                log.continuation.yield(number)
                return result
            }
            return calls
        }

        func wait(for number: Int) async {
            if number == 0 { return }
            for await seen in log.stream where seen >= number { return }
        }
    }

    @Test(arguments: [0, 1, 2, 5])
    func `while the consumer works, exactly the requested number of chunks is read ahead`(readAhead: Int) async throws {
        let reads = Reads()
        try await withIO(calls: reads.calls()) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100_000).write(to: url)
            var iterator = url.chunks(of: 1000, readAhead: readAhead, using: io).makeAsyncIterator()
            for taken in 1...20 {
                _ = try await iterator.next()
                await reads.wait(for: taken + readAhead)
                try await io.waitForStatistics { $0.runningCount + $0.waitingCount == 0 }
                #expect(reads.soFar == taken + readAhead)
            }
        }
    }

    @Test func `a job releases its thread after reading 4 MiB`() async throws {
        var calls = SystemCalls.system
        calls.inline = .missing
        try await withIO(concurrency: 1, calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try Data().write(to: url)
            #expect(truncate(url.path, 20 << 20) == 0)
            var iterator = url.chunks(of: 64 << 10, readAhead: 1000, using: io).makeAsyncIterator()
            var count = try await iterator.next()!.count
            // Between two jobs, there is a moment when none runs and none waits.
            try await io.waitForStatistics { $0.finishedCount >= 5 }
            while let chunk = try await iterator.next() { count += chunk.count }
            #expect(count == 20 << 20)
            #expect((5...6).contains(io.statistics.finishedCount))
        }
    }

    @Test func `an error is thrown once, after the chunks that were read before it, with the file closed`() async throws
    {
        let reads = Reads()
        try await withIO(calls: reads.calls { $0 == 4 ? -Int(EIO) : nil }) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            var iterator = url.chunks(of: 1000, readAhead: 5, using: io).makeAsyncIterator()
            #expect(same(try await iterator.next()!, pattern(1000)))
            await reads.wait(for: 4)
            #expect(try await iterator.next()?.count == 1000)
            #expect(try await iterator.next()?.count == 1000)
            let error = await expectFileError(.inputOutput) { try await iterator.next() }
            #expect(error?.subject == url.path && error?.operation == "read")
            #expect(io.statistics.openCount == 0)
            #expect(try await iterator.next() == nil)
        }
    }

    @Test func `a close error is thrown after the last chunk, and an open error instead of the first`() async throws {
        try await withIO(calls: .failing(.close, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1500).write(to: url)
            var iterator = url.chunks(of: 1000, using: io).makeAsyncIterator()
            #expect(try await iterator.next()?.count == 1000)
            #expect(try await iterator.next()?.count == 500)
            let error = await expectFileError(.inputOutput) { try await iterator.next() }
            #expect(error?.operation == "close")
        }
        try await withIO { io, directory in
            for (url, code) in [
                (directory.appending(path: "none"), FileError.Code.notFound), (directory, .isDirectory),
                (URL(string: "http://example.org")!, .invalidPath),
            ] {
                var iterator = url.chunks(using: io).makeAsyncIterator()
                await expectFileError(code) { try await iterator.next() }
                let next = try await iterator.next()
                #expect(next == nil)
            }
        }
    }

    // MARK: Cached chunks

    /// The kernel, with non-blocking reads that return `result`, or all bytes if it is nil.
    private func inline(_ result: @escaping @Sendable () -> Int?) -> SystemCalls {
        var calls = SystemCalls.system
        calls.inline.read = { descriptor, buffer, offset in
            if descriptor < 0 { return -Int(EBADF) }
            #expect(offset == -1)
            let count = result() ?? buffer.count
            if count <= 0 { return count }
            return SystemCalls.system.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)))
        }
        return calls
    }

    @Test func `cached chunks need only two jobs, for the first chunk and the last`() async throws {
        try await withIO(calls: inline { nil }) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_500).write(to: url)
            var sizes: [Int] = []
            for try await chunk in url.chunks(of: 1000, readAhead: 3, using: io) { sizes.append(chunk.count) }
            #expect(sizes == Array(repeating: 1000, count: 10) + [500])
            #expect(io.statistics.finishedCount == 2)
        }
    }

    @Test func `the first chunk that isn't cached starts the read-ahead`() async throws {
        let number = Guarded(0)
        let calls = inline {
            number.withLock {
                $0 += 1
                return $0 == 3 ? -Int(EAGAIN) : nil
            }
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(20_000).write(to: url)
            var iterator = url.chunks(of: 1000, readAhead: 2, using: io).makeAsyncIterator()
            for _ in 1...3 { _ = try await iterator.next() }
            #expect(io.statistics.finishedCount == 1)
            for _ in 4...10 { _ = try await iterator.next() }
            #expect(number.withLock { $0 } == 3, "what is read ahead is not read here")
        }
    }

    @Test func `a partly cached chunk still has all its bytes`() async throws {
        try await withIO(calls: inline { [-Int(EAGAIN), 0, 1, 7, 99, nil, nil, nil].randomElement()! }) {
            io, directory in
            let url = directory.appending(path: "file")
            for count in [99, 100, 101, 1000, 5003] {
                try pattern(count).write(to: url)
                for round in 0..<60 {
                    let stream = try await url.openForReading(using: io)
                    var chunks: [Data] = []
                    for try await chunk in stream.chunks(of: 100, readAhead: round % 3) { chunks.append(chunk) }
                    #expect(chunks.dropLast().allSatisfy { $0.count == 100 })
                    #expect(same(chunks.reduce(into: Data()) { $0 += $1 }, pattern(count)))
                }
            }
        }
    }

    // MARK: FIFOs

    @Test func `a FIFO isn't read ahead, and all its chunks but the last are full`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "fifo")
            #expect(mkfifo(url.path, 0o600) == 0)
            // Opening waits for the reader, and blocks this thread until then.
            async let writer: Void = offPool {
                let descriptor = open(url.path, O_WRONLY)
                for piece in 0..<5 {
                    _ = pattern(1000, seed: UInt8(piece)).withUnsafeBytes { write(descriptor, $0.baseAddress, 1000) }
                }
                close(descriptor)
            }
            var iterator = url.chunks(of: 1500, readAhead: 3, using: io).makeAsyncIterator()
            var all = try await iterator.next()!
            try await io.waitForStatistics { $0.runningCount + $0.waitingCount == 0 }
            #expect(io.statistics.finishedCount == 1, "no job waits for bytes that no loop asked for")
            var sizes = [all.count]
            while let chunk = try await iterator.next() {
                sizes.append(chunk.count)
                all += chunk
            }
            await writer
            #expect(sizes == [1500, 1500, 1500, 500])
            #expect(same(all, (0..<5).reduce(into: Data()) { $0 += pattern(1000, seed: UInt8($1)) }))
        }
    }

    @Test func `after the end of a FIFO, next returns nil and doesn't read the descriptor again`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "fifo")
            #expect(mkfifo(url.path, 0o600) == 0)
            let writer = open(url.path, O_RDWR)
            let stream = try await url.openForReading(using: io)
            var iterators = [
                stream.chunks(of: 10).makeAsyncIterator(), url.chunks(of: 10, using: io).makeAsyncIterator(),
            ]
            for index in iterators.indices {
                _ = pattern(10).withUnsafeBytes { write(writer, $0.baseAddress, 10) }
                let chunk = try await iterators[index].next()
                #expect(chunk == pattern(10))
            }
            close(writer)
            for index in iterators.indices {
                for _ in 1...3 {
                    let chunk = try await iterators[index].next()
                    #expect(chunk == nil)
                }
            }
            #expect(io.statistics.runningCount + io.statistics.waitingCount == 0)
        }
    }

    // MARK: The end of an iteration

    @Test func `leaving a loop during read-ahead drops the chunk and closes the file on a worker`() async throws {
        let gate = ThreadGate()
        let closers = Guarded<[String]>([])
        let reads = Reads()
        var calls = reads.calls { number in
            if number == 2 { gate.pass() }
            return nil
        }
        calls.close = { descriptor in
            closers.withLock { $0.append(nameOfThisThread()) }
            return SystemCalls.system.close(descriptor)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            for try await chunk in url.chunks(of: 1000, using: io) {
                #expect(chunk.count == 1000)
                await gate.waitForThreads(1)
                break
            }
            #expect(io.statistics.openCount == 1, "the kernel still writes into the buffer")
            gate.open()
        }
        #expect(closers.withLock { $0 } == ["sluice-files"])
        #expect(reads.soFar == 2, "no further chunk was read")
    }

    @Test func `leaving a loop while its job waits for a thread removes the job from the queue`() async throws {
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.inline = .missing
        calls.open = { path, flags, mode in
            if String(cString: path).hasSuffix("/stuck") { gate.pass() }
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(concurrency: 1, calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            let stream = try await url.openForReading(using: io)
            // Another file occupies the thread, so that the read-ahead stays in the queue.
            let stuck = directory.appending(path: "stuck")
            try Data().write(to: stuck)
            var iterator: FileChunks.Iterator? = stream.chunks(of: 1000, readAhead: 0).makeAsyncIterator()
            #expect(try await iterator?.next()?.count == 1000)
            let blocking = Task { try await Data(asyncContentsOf: stuck, using: io) }
            try await io.waitForStatistics { $0.runningCount > 0 }
            let waiting = Task { [iterator] in
                var iterator = iterator
                return try await iterator?.next()
            }
            iterator = nil
            try await io.waitForStatistics { $0.waitingCount > 0 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(io.statistics.withdrawnCount == 1)
            gate.open()
            #expect(try await blocking.value.isEmpty)
        }
    }

    @Test func `leaving a loop removes its read-ahead from the queue even if no task waits for it`() async throws {
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.inline = .missing
        calls.open = { path, flags, mode in
            if String(cString: path).hasSuffix("blocker") { gate.pass() }
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(concurrency: 1, calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            var iterator: FileChunks.Iterator? = url.chunks(of: 1000, using: io).makeAsyncIterator()
            _ = try await iterator?.next()
            try await io.waitForStatistics { $0.runningCount + $0.waitingCount == 0 }
            let blocker = directory.appending(path: "blocker")
            let blocking = Task { try await blocker.withFileForWriting(using: io) { _ in } }
            await gate.waitForThreads(1)
            // The chunk is already there. Taking it makes room for another.
            _ = try await iterator?.next()
            #expect(io.statistics.waitingCount == 1)
            iterator = nil
            #expect(io.statistics.withdrawnCount == 1)
            gate.open()
            try await blocking.value
        }
    }

    @Test func `a cancelled task gets no more chunks, and the file is closed`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            let task = Task {
                var iterator = url.chunks(of: 1000, using: io).makeAsyncIterator()
                #expect((try? await iterator.next())?.count == 1000)
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) { try await iterator.next() }
                // A new task, because this one is cancelled.
                try await Task { try await io.waitForStatistics { $0.openCount == 0 } }.value
                // The iterator still exists.
                await #expect(throws: CancellationError.self) { try await iterator.next() }
            }
            try await task.value
        }
    }

    @Test func `a running read is awaited, and stops between two system calls`() async throws {
        let gate = ThreadGate()
        let reads = Reads()
        // Short reads, so that a chunk takes many.
        var calls = reads.calls { number in
            if number == 3 { gate.pass() }
            return nil
        }
        calls.read = { [read = calls.read] descriptor, buffer in
            read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(10)))
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            let task = Task {
                var iterator = url.chunks(of: 1000, using: io).makeAsyncIterator()
                _ = try await iterator.next()
            }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(reads.soFar == 3)
        }
    }

    @Test func `a storm of loops that are left or cancelled leaves every count at zero`() async throws {
        try await withIO(concurrency: 3) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            // In waves, so that each loop has a file open.
            for wave in 0..<6 {
                await withTaskGroup { group in
                    for index in (wave * 100)..<(wave * 100 + 100) {
                        group.addTask {
                            let task = Task {
                                var all = Data()
                                for try await chunk in url.chunks(of: 1000, readAhead: index % 4, using: io) {
                                    all += chunk
                                    if index % 3 == 0, all.count > index * 10 { return true }
                                }
                                return same(all, pattern(50_000))
                            }
                            if index % 3 == 1 {
                                await suspend(times: index % 50)
                                task.cancel()
                            }
                            switch await task.result {
                            case .success(let isWhole): #expect(isWhole)
                            case .failure(let error): #expect(error is CancellationError)
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func `after a shutdown, the engine refuses the next chunk`() async throws {
        try await FileIO.shared.withTemporaryDirectory { directory in
            let io = FileIO(configuration: .init(concurrency: 1))
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            var iterator = url.chunks(of: 1000, readAhead: 0, using: io).makeAsyncIterator()
            _ = try await iterator.next()
            await io.shutdown()
            await expectFileError(.shutDown) { try await iterator.next() }
            await io.shutdown()
            try await io.waitForStatistics { $0.openCount == 0 }
        }
    }

    // MARK: Chunks of a stream

    @Test func `a stream's chunks start at the stream's position and close the stream`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            let stream = try await url.openForReading(using: io)
            #expect(same(try await stream.read(upToCount: 512), pattern(512)))
            var all = Data()
            for try await chunk in stream.chunks(of: 1000, readAhead: 2) { all += chunk }
            #expect(same(all, pattern(5000).dropFirst(512)))
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `a stream's chunks close it even if never iterated or dropped early, and even if copies exist`()
        async throws
    {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            do {
                let chunks = try await url.openForReading(using: io).chunks()
                let copy = chunks
                #expect(io.statistics.openCount == 1)
                withExtendedLifetime((chunks, copy)) {}
            }
            try await io.waitForStatistics { $0.openCount == 0 }

            let chunks = try await url.openForReading(using: io).chunks(of: 100)
            for try await _ in chunks { break }
            // The sequence still exists, but the iteration owned the file.
            try await io.waitForStatistics { $0.openCount == 0 }
            withExtendedLifetime(chunks) {}
        }
    }

    @Test func `iterating a stream's chunks a second time stops the program with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let chunks = try await URL(filePath: "/proc/self/status").openForReading().chunks()
            _ = chunks.makeAsyncIterator()
            _ = chunks.makeAsyncIterator()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("iterated only once"))
    }

    @MainActor @Test func `a loop on the main actor stays there, and may use values that aren't Sendable`() async throws
    {
        final class Sum { var bytes = 0 }
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(5000).write(to: url)
            let sum = Sum()
            for try await chunk in url.chunks(of: 100, using: io) {
                MainActor.assertIsolated()
                sum.bytes += chunk.count
            }
            #expect(sum.bytes == 5000)
        }
    }
}

// MARK: - Reading ahead

/// The state machine alone, with every order of events.
struct ReadAheadMachine {
    private struct Broken: Error {}

    private enum Event: CaseIterable { case ask, arrive, end, fail, abandon }

    /// Checks at each step of one order of events that what a consumer and a reader see meets the contract.
    /// Returns whether the order is possible.
    private func run(_ events: [Event], depth: Int) -> Bool {
        var machine = ReadAhead<Int>(depth: depth)
        var isReading = false
        var isWaiting = false
        var isAbandoned = false
        var made: UInt8 = 0
        var expected: UInt8 = 0
        var isOver = false
        var failsNext = false

        func check(_ answer: ReadAhead<Int>.Answer) {
            switch answer {
            case .success(let chunk?):
                expect(chunk == Data([expected]), "in order, each once: \(events)")
                expected += 1
            case .success(nil):
                expect(isOver && expected == made && !failsNext, "the end comes after the last chunk: \(events)")
            case .failure:
                expect(failsNext && expected == made, "the error comes once, after the chunks before it: \(events)")
                failsNext = false
            }
        }

        for event in events {
            switch event {
            case .ask where !isWaiting && !isAbandoned:
                let (answer, reads) = machine.ask(7)
                expect(!(reads && isReading), "one reader at a time: \(events)")
                if reads { isReading = true }
                isWaiting = answer == nil
                if let answer { check(answer) }
            case .arrive where isReading, .end where isReading, .fail where isReading:
                var chunk: Data?
                var end: Result<Void, any Error>?
                if event == .arrive { chunk = Data([made]) }
                if event == .end { end = .success(()) }
                if event == .fail { end = .failure(Broken()) }
                if !isAbandoned {
                    if event == .arrive { made += 1 } else { isOver = true }
                    failsNext = event == .fail
                }
                let step = machine.arrived(chunk, end: end)
                expect((step.waiter != nil) == isWaiting, "a waiting reader is answered: \(events)")
                if isWaiting { check(step.answer) }
                isWaiting = false
                isReading = step.goesOn
                expect(!(isReading && (isOver || isAbandoned)), "nothing is read after the end: \(events)")
            case .abandon where !isWaiting && !isAbandoned:
                isAbandoned = true
                let dropped = machine.abandon()
                expect(dropped.count == Int(made - expected), "what lies ready is given back: \(events)")
            default: return false
            }
            expect(machine.isReading == isReading, "the reader was told: \(events)")
            expect(machine.count <= depth, "no more than the depth lies ready: \(events)")
            expect(!isWaiting || isReading, "a waiting loop has a reader: \(events)")
            if !isOver && !isAbandoned && expected > 0 && machine.count < depth {
                expect(isReading, "what is wanted is read: \(events)")
            }
        }
        return true
    }

    /// Called thousands of times. `#expect` takes microseconds even if it succeeds.
    private func expect(_ holds: Bool, _ claim: @autoclosure () -> String) {
        if !holds { Issue.record("\(claim())") }
    }

    @Test(arguments: 0...3)
    func `in every order of events, chunks are in order and never exceed their bound`(depth: Int) {
        var possible = 0
        func orders(_ prefix: [Event]) {
            guard run(prefix, depth: depth), prefix.count < 13 else { return }
            possible += 1
            for event in Event.allCases { orders(prefix + [event]) }
        }
        orders([])
        #expect(possible > 100)
    }
}
