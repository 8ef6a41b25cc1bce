#if os(Linux)
import Foundation
import SluiceFiles
import TestSupport
import Testing

/// The kernel, with every file system counting as one of this machine: the tests may run on an overlay.
private var localCalls: SystemCalls {
    var calls = SystemCalls.system
    calls.inline.isLocal = { _ in 1 }
    return calls
}

/// How often the process has mapped the file.
private func mappings(of url: URL) async throws -> Int {
    let maps = try await Data(asyncContentsOf: URL(filePath: "/proc/self/maps"))
    return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { $0.hasSuffix(url.path) }
}

@Suite(.timeLimit(.minutes(5))) struct `Mapped data` {
    @Test(arguments: [15, 4095, 4096, 100_001]) func `mapped data has the bytes of the file`(size: Int) async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(size).write(to: url)
            let data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            #expect(try await mappings(of: url) == 1)
            #expect(io.statistics.openCount == 0, "it needs no descriptor")
            #expect(same(data, pattern(size)))
        }
    }

    @Test func `the file is unmapped when the last copy of the data is gone`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            var data: Data? = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            var slice = data?.dropFirst(40_000)
            data = nil
            #expect(try await mappings(of: url) == 1)
            #expect(slice.map { same(Data($0), pattern(50_000).dropFirst(40_000)) } == true)
            let finished = io.statistics.finishedCount
            slice = nil
            try await io.waitForStatistics { $0.finishedCount > finished && $0.runningCount == 0 }
            #expect(try await mappings(of: url) == 0)
        }
    }

    @Test func `changing mapped data leaves the file and its other copies unchanged`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            var data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            data[7] = ~data[7]
            #expect(data[7] == ~pattern(50_000)[7])
            let copy = data
            data[8] = ~data[8]
            data.append(1)
            #expect(data.count == 50_001 && copy.count == 50_000 && copy[8] == pattern(50_000)[8])
            #expect(same(contents(of: url), pattern(50_000)))
        }
    }

    @Test func `an empty file, a pipe, a file of the kernel and one that is elsewhere are read`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let empty = directory.appending(path: "empty")
            try Data().write(to: empty)
            #expect(try await Data(asyncContentsOf: empty, options: .mappedIfSafe, using: io).isEmpty)
            let status = URL(filePath: "/proc/self/status")
            let text = try await Data(asyncContentsOf: status, options: .mappedIfSafe, using: io)
            #expect(text.starts(with: Data("Name:".utf8)))

            let fifo = directory.appending(path: "fifo")
            #expect(mkfifo(fifo.path, 0o600) == 0)
            async let read = Data(asyncContentsOf: fifo, options: .mappedIfSafe, using: io)
            try await fifo.withFileForWriting(using: io) { try await $0.write(pattern(3000)) }
            #expect(same(try await read, pattern(3000)))
        }
        var calls = SystemCalls.system
        calls.inline.isLocal = { _ in 0 }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            let data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            #expect(try await mappings(of: url) == 0)
            #expect(same(data, pattern(50_000)))
        }
    }

    @Test func `where mapping fails the file is read`() async throws {
        var calls = localCalls
        calls.randomAccess.map = { _, _, _, _ in -ENOMEM }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            let data = try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
            #expect(same(data, pattern(50_000)))
        }
    }

    @Test func `the limit, errors and progress are those of a read`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            await expectFileError(.limitExceeded) {
                try await Data(asyncContentsOf: url, options: .mappedIfSafe, maximumSize: 49_999, using: io)
            }
            await expectFileError(.notFound) {
                try await Data(asyncContentsOf: directory.appending(path: "none"), options: .mappedIfSafe, using: io)
            }
            await expectFileError(.isDirectory) {
                try await Data(asyncContentsOf: directory, options: .mappedIfSafe, using: io)
            }
            let last = Guarded<FileProgress?>(nil)
            _ = try await Data(asyncContentsOf: url, options: .mappedIfSafe, maximumSize: 50_000, using: io) {
                progress in
                last.withLock { $0 = progress }
            }
            let expected = FileProgress(completedBytes: 50_000, totalBytes: 50_000, isFinished: true)
            #expect(last.withLock { $0 } == expected)
        }
    }

    @Test func `a cancelled task maps nothing`() async throws {
        try await withIO(calls: localCalls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(50_000).write(to: url)
            await #expect(throws: CancellationError.self) {
                try await Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await Data(asyncContentsOf: url, options: .mappedIfSafe, using: io)
                }.value
            }
            #expect(try await mappings(of: url) == 0)
        }
    }
}
#endif
