import Dispatch
import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct Streams {
    @Test func `reading gives the requested bytes, fewer only at the end, and none after it`() async throws {
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

    @Test func `every kind of bytes is written in its order`() async throws {
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

    @Test func `slices of data are written from their own start`() async throws {
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

    @Test func `a write that fails says how many bytes were put out`() async throws {
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

    @Test func `opening truncates, appends or insists on a new file`() async throws {
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

    @Test func `truncate cuts off and extends, sync reaches the level it was asked for`() async throws {
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

    @Test func `close reports the error of close(2), and closes`() async throws {
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

    @Test func `a scope closes also when its body throws, and the body's error wins`() async throws {
        struct Mine: Error {}
        try await withIO(calls: .failing(.close, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            await #expect(throws: Mine.self) { try await url.withFileForWriting(using: io) { _ in throw Mine() } }
            await #expect(throws: Mine.self) { try await url.withFileForReading(using: io) { _ in throw Mine() } }
            #expect(io.statistics.openCount == 0)
        }
    }

    @Test func `a stream that is dropped is closed on a worker`() async throws {
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

    @Test func `chunks come one after the other, and a loop that is left closes the file`() async throws {
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
