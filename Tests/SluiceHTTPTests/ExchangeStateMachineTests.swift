import Foundation
import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `The exchange's state machine` {
    typealias Machine = ExchangeStateMachine<String, String>
    struct Broken: Error {}

    let head = ResponseHead(status: .ok, headerFields: [:])

    func streaming(bufferSize: Int = 4) -> Machine {
        var machine = Machine(bufferSize: bufferSize)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        _ = machine.due()
        return machine
    }

    /// `#expect` can't contain a call to a mutating method.
    func same<Value: Equatable>(_ found: Value, _ wanted: Value, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(found == wanted, sourceLocation: sourceLocation)
    }

    /// The machine's result as one line of text, for comparison.
    func described(_ due: Machine.Due?) -> String {
        switch due {
        case .head(let waiter, _): "head to \(waiter)"
        case .noHead(let waiter, let error): "no head to \(waiter): \(type(of: error))"
        case .batch(let waiter, let batch, let wasPaused): "\(batch.map(Array.init)) to \(waiter), paused: \(wasPaused)"
        case .end(let waiter): "end to \(waiter)"
        case .failure(let waiter, let error): "failure to \(waiter): \(type(of: error))"
        case nil: "nothing"
        }
    }

    func described(_ requested: Machine.BatchRequested) -> String {
        switch requested {
        case .suspend: "suspend"
        case .resume(let batch, let wasPaused): "\(batch.map(Array.init)), paused: \(wasPaused)"
        case .end: "end"
        case .fail(let error): "\(type(of: error))"
        }
    }

    @Test func `a waiting reader gets all chunks that arrived together`() {
        var machine = streaming()
        same(described(machine.batchRequested(by: "r")), "suspend")
        same(described(machine.due()), "nothing")
        same(machine.offered(), .taken)
        machine.receivedChunk(Data([1]))
        same(machine.offered(), .taken)
        machine.receivedChunk(Data([2]))
        same(described(machine.due()), "[[1], [2]] to r, paused: false")
        same(described(machine.due()), "nothing")
    }

    @Test func `buffered chunks are taken in order and together`() {
        var machine = streaming()
        for byte in UInt8(1)...3 {
            same(machine.offered(), .taken)
            machine.receivedChunk(Data([byte]))
        }
        same(described(machine.batchRequested(by: "r")), "[[1], [2], [3]], paused: false")
    }

    @Test func `a full buffer pauses the server until it's read, and a pause isn't a stall`() {
        var machine = streaming()
        same(machine.offered(), .taken)
        machine.receivedChunk(Data([1, 2, 3, 4]))
        #expect(machine.awaitsServer)
        same(machine.offered(), .full)
        #expect(!machine.awaitsServer)
        same(described(machine.batchRequested(by: "r")), "[[1, 2, 3, 4]], paused: true")
        #expect(machine.awaitsServer)
        // The engine offers the same bytes again.
        same(machine.offered(), .taken)
        machine.receivedChunk(Data([5]))
    }

    @Test func `the end comes after the bytes, and every later request gets it again`() {
        var machine = streaming()
        machine.receivedChunk(Data([1]))
        machine.finished(after: nil)
        same(described(machine.batchRequested(by: "r")), "[[1]], paused: false")
        for _ in 0..<2 { same(described(machine.batchRequested(by: "r")), "end") }
    }

    @Test func `a waiting reader gets the end or the failure`() {
        var ended = streaming()
        _ = ended.batchRequested(by: "r")
        ended.finished(after: nil)
        same(described(ended.due()), "end to r")

        var broken = streaming()
        _ = broken.batchRequested(by: "r")
        same(broken.failed(Broken()), true)
        same(described(broken.due()), "failure to r: Broken")
    }

    @Test func `a failure comes after the bytes that arrived before it`() {
        var machine = streaming()
        machine.receivedChunk(Data([1]))
        same(machine.failed(Broken()), true)
        same(machine.failed(Broken()), false)
        same(described(machine.batchRequested(by: "r")), "[[1]], paused: false")
        same(described(machine.batchRequested(by: "r")), "Broken")
    }

    @Test func `closing drops the bytes and wakes the reader, once`() {
        var machine = streaming()
        _ = machine.batchRequested(by: "r")
        machine.receivedChunk(Data([1, 2, 3, 4]))
        let first = machine.closed(CancellationError())
        #expect(first.isFirst && first.chunks.count == 1 && first.batchWaiter == "r")
        same(machine.closed(CancellationError()).isFirst, false)
        same(described(machine.batchRequested(by: "r")), "CancellationError")
        same(machine.offered(), .unwanted)
        same(machine.failed(Broken()), false)
    }

    @Test
    func `closing before the head fails the waiting task, and closing before that starts nothing`() {
        var waiting = Machine(bufferSize: 4)
        _ = waiting.headRequested(by: "head")
        same(waiting.closed(CancellationError()).headWaiter, "head")
        waiting.receivedHead(head)
        same(described(waiting.due()), "nothing")

        var closed = Machine(bufferSize: 4)
        _ = closed.closed(CancellationError())
        guard case .fail = closed.headRequested(by: "head") else { return #expect(Bool(false)) }
    }

    @Test func `a failure before the head fails the task that waits for the head`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        same(machine.failed(Broken()), true)
        same(described(machine.due()), "no head to head: Broken")
    }

    @Test func `an exchange without a head can't complete but can fail`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        same(machine.finished(after: nil), false)
        same(machine.failed(Broken()), true)
        same(described(machine.due()), "no head to head: Broken")
        same(machine.finished(after: nil), true)
    }

    @Test func `a head that arrives before it's requested is kept`() {
        var machine = Machine(bufferSize: 4)
        machine.receivedHead(head)
        same(described(machine.due()), "nothing")
        guard case .resume = machine.headRequested(by: "head") else { return #expect(Bool(false)) }
    }

    @Test func `a small body is available when its head is delivered`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        machine.receivedChunk(Data([1]))
        machine.finished(after: nil)
        same(described(machine.due()), "head to head")
        same(described(machine.batchRequested(by: "r")), "[[1]], paused: false")
        same(described(machine.batchRequested(by: "r")), "end")
    }

    @Test func `a head that arrived before a failure is delivered first, then the failure`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        same(machine.failed(Broken()), true)
        same(described(machine.due()), "head to head")
        same(described(machine.batchRequested(by: "r")), "Broken")
    }

    @Test func `closing between a head's arrival and its delivery fails the waiting task`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        same(machine.closed(CancellationError()).headWaiter, "head")
        same(described(machine.due()), "nothing")
    }
}
