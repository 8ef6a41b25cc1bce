import Foundation
import SluiceConcurrency
import Testing

@testable import SluiceCache

@Suite struct `The state of a body that arrives` {
    private static let half = Data(repeating: 1, count: SharedBodyState.window / 2)

    private func join(_ state: inout SharedBodyState) throws -> Int {
        let reader = state.join()
        return try #require(reader)
    }

    private func chunks(_ step: SharedBodyState.Step) -> [Int]? {
        if case .chunks(let chunks) = step { chunks.map(\.count) } else { nil }
    }

    private func file(_ step: SharedBodyState.Step) -> Range<Int64>? {
        if case .file(let range) = step { range } else { nil }
    }

    private func waits(_ step: SharedBodyState.Step) -> Bool {
        if case .wait = step { true } else { false }
    }

    @Test func `gives each reader all chunks, and then the end`() throws {
        var state = SharedBodyState(isSpooling: false)
        let one = try join(&state)
        _ = state.append([Data([1]), Data(), Data([2, 3])])
        #expect(chunks(state.next(one).0) == [1, 2])
        #expect(waits(state.next(one).0))
        let two = try join(&state)
        _ = state.append([Data([4])])
        #expect(chunks(state.next(two).0) == [1, 2, 1])
        _ = state.finish(CancellationError())
        _ = state.finish(nil)
        #expect(chunks(state.next(one).0) == [1])
        for reader in [one, two] {
            guard case .end(let error?) = state.next(reader).0 else {
                Issue.record("the first end counts")
                return
            }
            #expect(error is CancellationError)
        }
    }

    @Test func `without a file, the slowest reader sets the speed`() throws {
        var state = SharedBodyState(isSpooling: false)
        let fast = try join(&state)
        let slow = try join(&state)
        for _ in 0..<2 { _ = state.append([Self.half]) }
        #expect(state.fullness == nil)
        _ = state.append([Self.half])
        _ = state.next(fast)
        #expect(state.fullness != nil)
        let (step, signal) = state.next(slow)
        #expect(chunks(step)?.count == 3 && signal != nil)
        #expect(state.fullness == nil && state.windowStart == Int64(Self.half.count))
        #expect(state.join() == nil, "the beginning is lost")
    }

    @Test func `a reader that leaves no longer counts`() throws {
        var state = SharedBodyState(isSpooling: false)
        let fast = try join(&state)
        let slow = try join(&state)
        for _ in 0..<3 { _ = state.append([Self.half]) }
        _ = state.next(fast)
        #expect(state.fullness != nil)
        #expect(state.leave(slow) != nil && state.fullness == nil)
    }

    @Test func `without readers, nothing is dropped that a file lacks`() {
        var state = SharedBodyState(isSpooling: false)
        for _ in 0..<3 { _ = state.append([Self.half]) }
        #expect(state.fullness != nil && state.windowStart == 0)
        #expect(state.join() != nil)
    }

    @Test func `with a file, no reader slows the transfer down, and a late one reads the file`() throws {
        var state = SharedBodyState(isSpooling: true)
        let slow = try join(&state)
        for _ in 0..<8 {
            _ = state.append([Self.half])
            state.spool()
            #expect(state.fullness == nil)
        }
        #expect(state.windowStart == Int64(Self.half.count * 6))
        for reader in [slow, try join(&state)] {
            var position: Int64 = 0
            while position < state.windowStart {
                let step = state.next(reader).0
                let range = try #require(file(step))
                #expect(range.lowerBound == position && range.count <= SharedBodyState.piece)
                // A read may return fewer bytes.
                position += max(1, Int64(range.count) - 7)
                state.read(reader, upTo: position)
            }
            #expect(chunks(state.next(reader).0) == [Self.half.count, Self.half.count])
        }
    }

    @Test func `after the file has failed, the slowest reader sets the speed again`() throws {
        var state = SharedBodyState(isSpooling: true)
        let slow = try join(&state)
        for _ in 0..<4 {
            _ = state.append([Self.half])
            state.spool()
        }
        state.stopSpooling()
        _ = state.append([Self.half])
        // The file has these, so they leave the memory, but not the last one.
        #expect(state.fullness == nil)
        for _ in 0..<2 { _ = state.append([Self.half]) }
        #expect(state.fullness != nil)
        #expect(state.join() != nil, "the file and the memory have all bytes")
        var step = state.next(slow).0
        while let range = file(step) {
            state.read(slow, upTo: range.upperBound)
            step = state.next(slow).0
        }
        #expect(chunks(step)?.count == 3)
    }

    @Test func `when the file fails, what all readers have read leaves the memory`() throws {
        var state = SharedBodyState(isSpooling: true)
        let reader = try join(&state)
        _ = state.append([Data(count: SharedBodyState.window + 1)])
        _ = state.next(reader)
        state.stopSpooling()
        #expect(state.fullness == nil)
    }
}
