import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Copies that are cancelled, and their progress` {
    @Test func `a cancelled task begins nothing`() async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, 10)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await io.copy(a, to: directory.appending(path: "b"), options: .init(existing: .replace))
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(log.all == [])
        }
    }

    /// The kernel without clones, with a gate before the n-th of these calls.
    private static func stopping(at call: Call, _ number: Int, _ gate: ThreadGate, range: CInt?) -> SystemCalls {
        let count = Guarded(0)
        return `Copies of files`.without(clone: EXDEV, range: range).intercepted { made in
            if made == call,
                count.withLock({
                    $0 += 1; return $0 - 1
                }) == number
            {
                gate.pass()
            }
            return nil
        }
    }

    @Test(
        .enabled(if: copiesInKernel),
        arguments: [
            (Call.copyingClone, 0, nil), (.copyingCopyRange, 0, nil), (.copyingCopyRange, 1, nil), (.read, 1, EXDEV),
            (.write, 0, EXDEV), (.sync, 0, nil), (.close, 0, nil),
        ] as [(Call, Int, CInt?)])
    func `one that is cancelled before the rename leaves the destination as it was`(
        call: Call, number: Int, range: CInt?
    ) async throws {
        let gate = ThreadGate()
        try await withIO(calls: Self.stopping(at: call, number, gate, range: range), in: memoryDirectory) {
            io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, large)
            try makeFile(b, 70)
            let reports = Guarded<[FileProgress]>([])
            let task = Task {
                try await io.copy(a, to: b, options: .init(existing: .replace)) { report in
                    reports.withLock { $0.append(report) }
                }
            }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(names(in: directory) == ["a", "b"])
            #expect(same(contents(of: b), pattern(70)))
            #expect(reports.withLock { $0.allSatisfy { !$0.isFinished } })
        }
    }

    @Test(.enabled(if: copiesInKernel))
    func `it stops after the piece that it is at, not at the end`() async throws {
        let gate = ThreadGate()
        let log = CallLog()
        var calls = Self.stopping(at: .copyingCopyRange, 0, gate, range: nil)
        calls.copying.copyRange = { [real = calls.copying.copyRange] source, destination, count in
            log.add("\(count)")
            return real(source, destination, count)
        }
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, large)
            let task = Task {
                try await io.copy(a, to: directory.appending(path: "b"), options: .init(existing: .replace))
            }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(log.all == ["\(4 << 20)"])
        }
    }

    @Test func `one that is renamed already counts`() async throws {
        let gate = ThreadGate()
        try await withIO(calls: Self.stopping(at: .rename, 0, gate, range: nil), in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 5000)
            let task = Task { try await io.copy(a, to: b, options: .init(existing: .replace)) }
            await gate.waitForThreads(1)
            task.cancel()
            gate.open()
            #expect(try await task.value.bytes == 5000)
            #expect(sameFiles(a, b))
        }
    }

    // MARK: Progress

    @Test(arguments: [nil, EXDEV] as [CInt?])
    func `reports go up, come on a thread of the engine, and the last comes when the copy is in place`(
        range: CInt?
    ) async throws {
        let calls = `Copies of files`.without(clone: EXDEV, range: range)
        try await withIO(calls: calls, in: memoryDirectory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, large)
            let reports = Guarded<[(FileProgress, thread: String, isInPlace: Bool)]>([])
            try await io.copy(a, to: b, options: .init(existing: .replace)) { progress in
                let isInPlace = access(b.path, F_OK) == 0
                reports.withLock { $0.append((progress, nameOfThisThread(), isInPlace)) }
            }
            let all = reports.withLock { $0 }
            #expect(all.map { Int($0.0.completedBytes) } == [4 << 20, 8 << 20, large])
            #expect(all.map(\.0.isFinished) == [false, false, true])
            #expect(all.map(\.isInPlace) == [false, false, true])
            #expect(all.allSatisfy { $0.thread == "sluice-files" && $0.0.totalBytes == Int64(large) })
            #expect(all.last?.0.completedEntries == 1)
        }
    }

    @Test func `of a file that does not tell its size there is no total, and one report at the end`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let reports = Guarded<[FileProgress]>([])
            let result = try await io.copy(
                URL(filePath: "/proc/self/status"), to: directory.appending(path: "b"),
                options: .init(existing: .replace)
            ) {
                report in
                reports.withLock { $0.append(report) }
            }
            let last = FileProgress(completedBytes: result.bytes, completedEntries: 1, isFinished: true)
            #expect(reports.withLock { $0 } == [last])
        }
    }

    @Test func `a copy that fails makes no last report`() async throws {
        let reports = Guarded<[FileProgress]>([])
        try await withIO(calls: .failing(.rename, with: EIO), in: memoryDirectory) { io, directory in
            let a = directory.appending(path: "a")
            try makeFile(a, large)
            await expectFileError(.inputOutput) {
                try await io.copy(a, to: directory.appending(path: "b"), options: .init(existing: .replace)) { report in
                    reports.withLock { $0.append(report) }
                }
            }
        }
        #expect(reports.withLock { $0.map(\.isFinished) } == [false, false])
    }
}
