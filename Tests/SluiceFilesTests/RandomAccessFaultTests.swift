import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Random access faults` {
    /// An operation, the call that fails in it, and what it is called in the error.
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
                // The first is that of the open.
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
    func `each call that fails is an error with its operation, path and number`(
        _ fault: Case, number: CInt
    ) async throws {
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

    @Test func `a write that fails says how many bytes were put out, and one that puts out nothing fails`() async throws
    {
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

    @Test func `where space cannot be taken in advance, nothing is written instead`() async throws {
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

    @Test func `a cancelled task begins nothing`() async throws {
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

    @Test func `a long read stops between two system calls, and a long write continues to its end`() async throws {
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
