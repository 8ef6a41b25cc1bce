import Dispatch
import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct Streams {
    @Test func `reads return the requested bytes, fewer only at the end, and none after it`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1000).write(to: url)
            let stream = try await url.openForReading(using: io)
            #expect(try await stream.read(upToCount: 0).isEmpty)
            #expect(same(try await stream.read(upToCount: 512), pattern(1000).prefix(512)))
            #expect(same(try await stream.read(upToCount: 1 << 40), pattern(1000).dropFirst(512)))
            #expect(try await stream.read(upToCount: 512).isEmpty)
            #expect(try await stream.readToEnd().isEmpty)
            try await stream.close()
        }
    }

    @Test func `bytes of every type are written in order`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            var expected = Data()
            let stream = try await url.openForWriting(using: io)

            try await stream.write(pattern(10))
            expected += pattern(10)

            // Inline, small, large and empty chunks, more than one writev takes.
            let chunks = (0..<3000).map { pattern([0, 1, 14, 15, 512, 513, 4000][$0 % 7], seed: UInt8($0 % 251)) }
            try await stream.write(chunks)
            for chunk in chunks { expected += chunk }

            let bytes = Array(pattern(700, seed: 9))
            try await stream.write(bytes.span.bytes)
            expected += bytes

            var regions = DispatchData.empty
            for index in 0..<5 {
                pattern(300, seed: UInt8(index)).withUnsafeBytes { regions.append(DispatchData(bytes: $0)) }
                expected += pattern(300, seed: UInt8(index))
            }
            try await stream.write(regions)
            #expect(io.statistics.finishedCount == 5, "each write is one job")
            try await stream.close()
            #expect(same(contents(of: url), expected))
        }
    }

    @Test func `slices of data are written from their start`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let whole = pattern(5000)
            try await url.withFileForWriting(using: io) { stream in
                try await stream.write([whole[0..<3], whole[3..<2000], whole[2000..<2010], whole[2010...]])
            }
            #expect(same(contents(of: url), whole))
        }
    }

    @Test func `a gathered write that stops anywhere continues there`() async throws {
        let step = Guarded(0)
        var calls = SystemCalls.system
        calls.writeVector = { descriptor, pieces in
            // 1, 2, 3 … bytes at a time, with an interruption now and then.
            let most = step.withLock {
                $0 += 1; return $0
            }
            if most % 5 == 0 { return -Int(EINTR) }
            let first = pieces.first!
            return SystemCalls.system.write(descriptor, UnsafeRawBufferPointer(rebasing: first.prefix(most)))
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            let chunks = (0..<20).map { pattern(600 + $0, seed: UInt8($0)) }
            try await url.withFileForWriting(using: io) { try await $0.write(chunks) }
            #expect(same(contents(of: url), chunks.reduce(into: Data()) { $0 += $1 }))
        }
    }

    @Test func `a failed write reports how many bytes were written`() async throws {
        let calls = Guarded(0)
        var failing = SystemCalls.system
        failing.writeVector = { descriptor, pieces in
            if calls.withLock({
                $0 += 1; return $0
            }) == 3 {
                return -Int(ENOSPC)
            }
            return SystemCalls.system.write(descriptor, UnsafeRawBufferPointer(rebasing: pieces.first!.prefix(1000)))
        }
        try await withIO(calls: failing) { io, directory in
            let stream = try await directory.appending(path: "file").openForWriting(using: io)
            do {
                try await stream.write([pattern(1500), pattern(1500)])
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == .noSpace)
                #expect(error.bytesWritten == 1500, "1000 and 500 of the first chunk")
            }
            try await stream.close()
        }
    }

    @Test func `opening truncates, appends or requires a new file`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try await url.withFileForWriting(existing: .fail, permissions: 0o640, using: io) {
                try await $0.write(pattern(10))
            }
            #expect(mode(of: url) == 0o640)
            try await url.withFileForWriting(existing: .append, using: io) { try await $0.write(pattern(5)) }
            #expect(same(contents(of: url), pattern(10) + pattern(5)))
            await expectFileError(.exists) { try await url.withFileForWriting(existing: .fail, using: io) { _ in } }
            try await url.withFileForWriting(using: io) { try await $0.write(pattern(3)) }
            #expect(same(contents(of: url), pattern(3)))
            await expectFileError(.isDirectory) { try await directory.withFileForReading(using: io) { _ in } }
            await expectFileError(.isDirectory) { try await directory.withFileForWriting(using: io) { _ in } }
        }
    }

    @Test func `truncate shortens and extends the file, and sync reaches the requested level`() async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let url = directory.appending(path: "file")
            let stream = try await url.openForWriting(using: io)
            try await stream.write(pattern(10))
            try await stream.truncate(to: 4)
            try await stream.truncate(to: 6)
            try await stream.sync(.none)
            try await stream.sync(.data)
            try await stream.sync()
            try await stream.sync(.fullAndDirectory)
            #expect(
                log.all == [
                    "create", "write", "truncate", "truncate", "fdatasync", "fsync", "fsync", "open directory",
                    "fsync directory",
                    "close",
                ])
            try await stream.close()
            #expect(same(contents(of: url), pattern(4) + Data([0, 0])))
        }
    }

    @Test func `close reports the error of close(2), and closes anyway`() async throws {
        try await withIO(calls: .failing(.close, with: EDQUOT)) { io, directory in
            let url = directory.appending(path: "file")
            let stream = try await url.openForWriting(using: io)
            do {
                try await stream.close()
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == .quotaExceeded && error.operation == "close")
            }
            #expect(io.statistics.openCount == 0)
            await expectFileError(.quotaExceeded) { try await url.withFileForWriting(using: io) { _ in } }
        }
    }

    @Test func `a scope closes even if its body throws, and the body's error is thrown`() async throws {
        struct Mine: Error {}
        try await withIO(calls: .failing(.close, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            await #expect(throws: Mine.self) { try await url.withFileForWriting(using: io) { _ in throw Mine() } }
            await #expect(throws: Mine.self) { try await url.withFileForReading(using: io) { _ in throw Mine() } }
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `a dropped stream is closed on a worker`() async throws {
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
                let stream = try await url.openForWriting(using: io)
                try await stream.write(pattern(3))
            }
            do { _ = try await url.openForReading(using: io) }
            await io.shutdown()
            #expect(io.statistics.openCount == 0)
            #expect(closers.withLock { $0 } == ["sluice-files", "sluice-files"])
        }
    }

    @Test func `chunks come in order, and leaving the loop closes the file`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            var sizes: [Int] = []
            var all = Data()
            for try await chunk in url.chunks(of: 4096, using: io) {
                sizes.append(chunk.count)
                all += chunk
            }
            #expect(sizes == [4096, 4096, 1808])
            #expect(same(all, pattern(10_000)))
            #expect(io.statistics.openCount == 0)
            for try await _ in url.chunks(of: 10, using: io) { break }
            await expectFileError(.notFound) {
                for try await _ in directory.appending(path: "none").chunks(of: 10, using: io) {}
            }
        }
    }
}

// MARK: - Positions

@Suite(.timeLimit(.minutes(15))) struct Positions {
    @Test func `reading continues at the position of a seek, even past the end`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(1000).write(to: url)
            let stream = try await url.openForReading(using: io)
            #expect(try await stream.position == 0)
            _ = try await stream.read(upToCount: 100)
            #expect(try await stream.position == 100)
            try await stream.seek(to: 990)
            #expect(same(try await stream.read(upToCount: 100), pattern(1000)[990...]))
            try await stream.seek(to: 5000)
            #expect(try await stream.read(upToCount: 100).isEmpty)
            #expect(try await stream.position == 5000)
            try await stream.seek(to: 0)
            #expect(same(try await stream.readToEnd(), pattern(1000)))
            try await stream.close()
        }
    }

    @Test func `writing continues at the position of a seek, and leaves a hole past the end`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try await url.withFileForWriting(using: io) { stream in
                try await stream.write(pattern(10))
                try await stream.seek(to: 20)
                try await stream.write([pattern(5), pattern(5, seed: 1)])
                #expect(try await stream.position == 30)
                try await stream.seek(to: 2)
                try await stream.write(pattern(3, seed: 2))
            }
            let head = pattern(2) + pattern(3, seed: 2) + pattern(10)[5...]
            #expect(same(contents(of: url), head + Data(count: 10) + pattern(5) + pattern(5, seed: 1)))
        }
    }

    @Test func `appending ignores the position`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            try await url.withFileForWriting(existing: .append, using: io) { stream in
                try await stream.seek(to: 3)
                #expect(try await stream.position == 3)
                try await stream.write(pattern(5, seed: 1))
                #expect(try await stream.position == 15)
            }
            #expect(same(contents(of: url), pattern(10) + pattern(5, seed: 1)))
        }
    }

    @Test func `seeking in a FIFO is an error`() async throws {
        try await withIO { io, directory in
            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            let writer = Task {
                let stream = try await fifo.openForWriting(using: io)
                let error = await expectESPIPE { try await stream.seek(to: 0) }
                #expect(error?.operation == "seek in" && error?.subject == fifo.path)
                try await stream.write(pattern(3))
                try await stream.close()
            }
            let stream = try await fifo.openForReading(using: io)
            let error = await expectESPIPE { try await stream.position }
            #expect(error?.operation == "get the position of" && error?.subject == fifo.path)
            await expectESPIPE { try await stream.seek(to: 5) }
            #expect(same(try await stream.readToEnd(), pattern(3)))
            try await stream.close()
            try await writer.value
        }
    }

    @discardableResult
    private func expectESPIPE<R>(_ body: () async throws -> R) async -> FileError? {
        do {
            _ = try await body()
            Issue.record("nothing was thrown")
        } catch let error as FileError {
            #expect(error.systemError == ESPIPE && error.remedy?.contains("no position") == true, "\(error)")
            return error
        } catch {
            Issue.record("not a FileError: \(error)")
        }
        return nil
    }

    #if os(Linux)
    @Test func `a file in /proc can be read again from the front`() async throws {
        try await withIO { io, _ in
            let stream = try await URL(filePath: "/proc/kallsyms").openForReading(using: io)
            let head = try await stream.read(upToCount: 10_000)
            try await stream.seek(to: 5000)
            #expect(same(try await stream.read(upToCount: 5000), head.dropFirst(5000)))
            try await stream.close()
        }
    }
    #endif

    @Test(arguments: 1...4) func `random reads, writes and seeks agree with an array`(seed: UInt64) async throws {
        try await withIO { io, directory in
            var random = SeededRandom(seed: seed)
            let url = directory.appending(path: "file")
            var model: [UInt8] = []
            var place = 0
            let writer = try await url.openForWriting(using: io)
            let reader = try await url.openForReading(using: io)
            for step in 0..<300 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    place = Int.random(in: 0..<20_000, using: &random)
                    try await writer.seek(to: Int64(place))
                case 1:
                    #expect(try await writer.position == place)
                case 2:
                    let data = pattern(Int.random(in: 1..<3000, using: &random), seed: UInt8(step % 256))
                    try await writer.write(data)
                    model += Array(repeating: 0, count: max(0, place + data.count - model.count))
                    model.replaceSubrange(place..<(place + data.count), with: data)
                    place += data.count
                default:
                    let offset = Int.random(in: 0..<25_000, using: &random)
                    let count = Int.random(in: 0..<5000, using: &random)
                    try await reader.seek(to: Int64(offset))
                    let read = try await reader.read(upToCount: count)
                    #expect(same(read, Data(model.dropFirst(offset).prefix(count))), "step \(step)")
                    #expect(try await reader.position == offset + read.count)
                }
            }
            try await reader.close()
            try await writer.close()
            #expect(same(contents(of: url), Data(model)))
        }
    }

    @Test func `a stream preallocates space and keeps its size`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let stream = try await url.openForWriting(using: io)
            try await stream.preallocate(upTo: 0)
            try await stream.preallocate(upTo: 1 << 20)
            #expect(contents(of: url).isEmpty)
            #expect(blocks(of: url) * 512 >= 1 << 20)
            try await stream.write(pattern(100))
            try await stream.truncate(to: 100)
            #expect(blocks(of: url) * 512 < 1 << 20)
            try await stream.close()
            #expect(same(contents(of: url), pattern(100)))
        }
    }

    @Test func `a failed preallocation is an error with a remedy`() async throws {
        for (number, code) in [(ENOSPC, FileError.Code.noSpace), (EOPNOTSUPP, .unsupported), (ENOSYS, .unsupported)] {
            var calls = SystemCalls.system
            calls.randomAccess.preallocate = { _, _, _, keepsSize in keepsSize ? -number : 0 }
            try await withIO(calls: calls) { io, directory in
                try await directory.appending(path: "file").withFileForWriting(using: io) { stream in
                    let error = await expectFileError(code) { try await stream.preallocate(upTo: 10) }
                    #expect(error?.operation == "preallocate space in" && error?.systemError == number)
                    #expect(error?.remedy != nil)
                    try await stream.write(pattern(1))
                }
            }
        }
    }

    @Test func `a cancelled task doesn't seek`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            try await Task {
                let stream = try await url.openForReading(using: io)
                try await stream.seek(to: 3)
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) { try await stream.seek(to: 7) }
                await #expect(throws: CancellationError.self) { _ = try await stream.position }
                try await stream.close()
            }.value
        }
    }
}
