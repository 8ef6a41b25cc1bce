import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Random access space` {
    @Test func `space is taken in advance, with the size or without`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                try await file.write(pattern(100), at: 0)
                try await file.preallocate(0..<(1 << 20), keepingSize: true)
                #expect(try await file.size == 100)
                #expect(blocks(of: url) * 512 >= 1 << 20)
                try await file.preallocate(50..<50)
                try await file.preallocate(50..<200)
                #expect(try await file.size == 200)
                #expect(same(contents(of: url), pattern(100) + Data(count: 100)))
            }
        }
    }

    @Test func `a hole reads as zeros, and its space is given back`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let size = 1 << 20
            try await url.withRandomAccessFile(.createIfMissing, using: io) { file async throws in
                try await file.write(pattern(size), at: 0)
                try await file.sync(.data)
                let before = blocks(of: url)
                try await file.punchHole(0..<0)
                #expect(same(contents(of: url), pattern(size)))
                try await file.punchHole(100..<Int64(size - 100))
                #expect(try await file.size == size)
                #expect(same(contents(of: url), pattern(100) + Data(count: size - 200) + pattern(size).suffix(100)))
                #expect(blocks(of: url) < before / 2)
            }
        }
    }

    @Test func `advice of every kind is taken`() async throws {
        let given = Guarded<[String]>([])
        var calls = SystemCalls.system
        calls.randomAccess.adviseFile = { descriptor, offset, count, advice in
            given.withLock { $0.append("\(advice) \(offset) \(count)") }
            return RandomAccessCalls.system.adviseFile(descriptor, offset, count, advice)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10_000).write(to: url)
            try await url.withRandomAccessFile(using: io) { file async throws in
                for advice in AccessAdvice.allCases { try await file.advise(advice) }
                try await file.advise(.needed, for: 4096..<8192)
                try await file.advise(.notNeeded, for: 4096..<4096)
                #expect(same(try await file.read(at: 0, upToCount: 10_000), pattern(10_000)))
            }
            let all = AccessAdvice.allCases.map { "\($0) 0 0" }
            #expect(given.withLock { $0 } == all + ["needed 4096 4096"], "an empty range is not the whole file")
        }
    }
}

/// The blocks of 512 bytes that a file takes.
func blocks(of url: URL) -> Int {
    var status = stat()
    return stat(url.path, &status) == 0 ? Int(status.st_blocks) : -1
}
