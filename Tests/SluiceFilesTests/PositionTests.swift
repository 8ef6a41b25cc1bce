import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct Positions {
    @Test func `reading continues at the position of a seek, behind the end too`() async throws {
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

    @Test func `writing continues at the position of a seek, and leaves a hole behind the end`() async throws {
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

    @Test func `appending does so wherever the position is`() async throws {
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

    @Test func `a FIFO has no position, and says so`() async throws {
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
    @Test func `files of the kernel can be read from the front again`() async throws {
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

    @Test func `a stream takes space in advance and keeps its size`() async throws {
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

    @Test func `an allocation in advance that fails is an error with a remedy`() async throws {
        for (number, code) in [(ENOSPC, FileError.Code.noSpace), (EOPNOTSUPP, .unsupported), (ENOSYS, .unsupported)] {
            var calls = SystemCalls.system
            calls.randomAccess.preallocate = { _, _, _, keepingSize in keepingSize ? -number : 0 }
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

    @Test func `a cancelled task moves nothing`() async throws {
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
