import Foundation
import SluiceFiles
import TestSupport
import Testing

/// A file that is an array.
private struct ModelFile {
    private(set) var bytes: [UInt8] = []

    func read(at offset: Int, upToCount count: Int) -> Data { Data(bytes.dropFirst(offset).prefix(count)) }

    mutating func write(_ data: Data, at offset: Int) {
        if data.isEmpty { return }
        resize(atLeast: offset + data.count)
        bytes.replaceSubrange(offset..<(offset + data.count), with: data)
    }

    mutating func truncate(to size: Int) {
        bytes.removeLast(max(0, bytes.count - size))
        resize(atLeast: size)
    }

    mutating func preallocate(_ range: Range<Int>, keepingSize: Bool) {
        if !keepingSize && !range.isEmpty { resize(atLeast: range.upperBound) }
    }

    mutating func punchHole(_ range: Range<Int>) {
        for index in range.clamped(to: 0..<bytes.count) { bytes[index] = 0 }
    }

    private mutating func resize(atLeast size: Int) {
        bytes += Array(repeating: 0, count: max(0, size - bytes.count))
    }
}

/// The kernel, with reads and writes that transfer as little as they like and are interrupted now and then.
private func reluctantCalls(seed: UInt64) -> SystemCalls {
    let random = Guarded(SeededRandom(seed: seed))
    @Sendable func part(of count: Int) -> Int? {
        random.withLock { random in
            if Int.random(in: 0..<8, using: &random) == 0 { return nil }
            return Bool.random(using: &random) ? count : Int.random(in: 1...max(1, count), using: &random)
        }
    }
    let real = SystemCalls.system
    var calls = real
    calls.inline = .missing
    calls.randomAccess.readAt = { descriptor, buffer, offset in
        guard let part = part(of: buffer.count) else { return -Int(EINTR) }
        return real.randomAccess.readAt(
            descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(part)), offset)
    }
    calls.randomAccess.writeAt = { descriptor, bytes, offset in
        guard let part = part(of: bytes.count) else { return -Int(EINTR) }
        return real.randomAccess.writeAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(part)), offset)
    }
    return calls
}

@Suite(.timeLimit(.minutes(5))) struct `Random access model` {
    @Test(arguments: 1...6) func `random operations agree with an array`(seed: UInt64) async throws {
        try await withIO(calls: reluctantCalls(seed: seed)) { io, directory in
            var random = SeededRandom(seed: seed)
            var model = ModelFile()
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createNew, using: io) { file async throws in
                for step in 0..<400 {
                    let offset = Int.random(in: 0..<60_000, using: &random)
                    let count = Int.random(in: 0..<[1, 20, 300, 20_000].randomElement(using: &random)!, using: &random)
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0:
                        model.truncate(to: offset)
                        try await file.truncate(to: Int64(offset))
                    case 1:
                        let keepingSize = Bool.random(using: &random)
                        model.preallocate(offset..<(offset + count), keepingSize: keepingSize)
                        try await file.preallocate(Int64(offset)..<Int64(offset + count), keepingSize: keepingSize)
                    case 2:
                        model.punchHole(offset..<(offset + count))
                        try await file.punchHole(Int64(offset)..<Int64(offset + count))
                    case 3...5:
                        let data = pattern(count, seed: UInt8(step % 256))
                        model.write(data, at: offset)
                        if step % 2 == 0 {
                            try await file.write(data, at: Int64(offset))
                        } else {
                            try await file.write(Array(data).span.bytes, at: Int64(offset))
                        }
                    case 6:
                        var memory = Data(repeating: 1, count: count)
                        let read = try await readInto(&memory, file, at: offset)
                        #expect(same(memory.prefix(read), model.read(at: offset, upToCount: count)), "step \(step)")
                        #expect(memory.dropFirst(read).allSatisfy { $0 == 1 })
                    default:
                        let read = try await file.read(at: Int64(offset), upToCount: count)
                        #expect(same(read, model.read(at: offset, upToCount: count)), "step \(step)")
                    }
                    #expect(try await file.size == model.bytes.count, "step \(step)")
                }
            }
            #expect(same(contents(of: url), Data(model.bytes)))
        }
    }

    private func readInto(_ memory: inout Data, _ file: RandomAccessFile, at offset: Int) async throws -> Int {
        var array = Array(memory)
        var span = array.mutableSpan
        var bytes = span.mutableBytes
        let count = try await file.read(at: Int64(offset), into: &bytes)
        memory = Data(array)
        return count
    }

    /// Each task has separate bytes, beside those of the others within one page and one file.
    @Test(arguments: [7, 8]) func `tasks that write beside each other do not disturb each other`(
        seed: UInt64
    ) async throws {
        let (tasks, share) = (8, 3000)
        try await withIO(calls: reluctantCalls(seed: seed)) { io, directory in
            let url = directory.appending(path: "file")
            let whole = try await url.withRandomAccessFile(.createNew, using: io) {
                file async throws in
                try await file.truncate(to: Int64(tasks * share))
                return try await withThrowingTaskGroup(of: (Int, Data).self) { group in
                    for task in 0..<tasks {
                        group.addTask {
                            var random = SeededRandom(seed: seed << 8 | UInt64(task))
                            var model = ModelFile()
                            model.truncate(to: share)
                            for step in 0..<150 {
                                let offset = Int.random(in: 0..<share, using: &random)
                                let count = Int.random(in: 0...(share - offset), using: &random)
                                let place = task * share + offset
                                if Bool.random(using: &random) {
                                    let data = pattern(count, seed: UInt8((step * tasks + task) % 256))
                                    model.write(data, at: offset)
                                    try await file.write(data, at: Int64(place))
                                } else {
                                    let read = try await file.read(at: Int64(place), upToCount: count)
                                    #expect(same(read, model.read(at: offset, upToCount: count)))
                                }
                            }
                            return (task, Data(model.bytes))
                        }
                    }
                    var parts = [Data](repeating: Data(), count: tasks)
                    for try await (task, bytes) in group { parts[task] = bytes }
                    return parts.reduce(Data(), +)
                }
            }
            #expect(same(contents(of: url), whole))
        }
    }
}
