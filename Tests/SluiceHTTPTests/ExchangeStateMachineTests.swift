import Foundation
import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `The exchange's state machine` {
    typealias Machine = ExchangeStateMachine<String, String, String>
    struct Broken: Error {}

    let head = ResponseHead(status: .ok, headerFields: [:])

    func streaming(bufferSize: Int = 4) -> Machine {
        var machine = Machine(bufferSize: bufferSize)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        _ = machine.headDue()
        return machine
    }

    @Test func `a reader that waits gets the chunk at once`() {
        var machine = streaming()
        guard case .suspend = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        guard case .resume("r", let batch) = machine.receivedChunk(Data([1]), demand: "d") else {
            return #expect(Bool(false))
        }
        #expect(batch == [Data([1])])
    }

    @Test func `chunks wait in order and are taken together`() {
        var machine = streaming()
        for byte in UInt8(1)...3 {
            guard case .proceed = machine.receivedChunk(Data([byte]), demand: "d") else { return #expect(Bool(false)) }
        }
        guard case .resume(let batch, nil) = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        #expect(batch == [Data([1]), Data([2]), Data([3])])
    }

    @Test func `a full buffer holds the server back until it is read, and then no stall is the server's`() {
        var machine = streaming()
        #expect(machine.awaitsServer)
        guard case .pause = machine.receivedChunk(Data([1, 2, 3, 4]), demand: "d") else { return #expect(Bool(false)) }
        #expect(machine.pausedDemand == "d")
        #expect(!machine.awaitsServer)
        guard case .resume(_, "d") = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        #expect(machine.awaitsServer)
    }

    @Test func `the end comes after the bytes, and again when asked again`() {
        var machine = streaming()
        _ = machine.receivedChunk(Data([1]), demand: "d")
        #expect(machine.finished().batchWaiter == nil)
        guard case .resume = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        guard case .end = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        guard case .end = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
    }

    @Test func `a failure comes after the bytes that arrived before it`() {
        var machine = streaming()
        _ = machine.receivedChunk(Data([1]), demand: "d")
        _ = machine.failed(Broken())
        guard case .resume = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        guard case .fail(let error) = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        #expect(error is Broken)
    }

    @Test func `closing drops the bytes, wakes the reader and releases the server, once`() {
        var machine = streaming()
        _ = machine.receivedChunk(Data([1, 2, 3, 4]), demand: "d")
        let first = machine.closed(CancellationError())
        #expect(first.isFirst && first.demand == "d" && first.chunks.count == 1)
        #expect(!machine.closed(CancellationError()).isFirst)
        guard case .fail = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        guard case .stop = machine.receivedChunk(Data([1]), demand: "d") else { return #expect(Bool(false)) }
    }

    @Test func `an exchange closed before its head fails the one who waits, and one closed before that starts nothing`()
    {
        var waiting = Machine(bufferSize: 4)
        _ = waiting.headRequested(by: "head")
        #expect(waiting.closed(CancellationError()).headWaiter == "head")
        waiting.receivedHead(head)
        #expect(waiting.headDue() == nil)

        var closed = Machine(bufferSize: 4)
        _ = closed.closed(CancellationError())
        guard case .fail = closed.headRequested(by: "head") else { return #expect(Bool(false)) }
    }

    @Test func `a head that comes before it is asked for is kept`() {
        var machine = Machine(bufferSize: 4)
        machine.receivedHead(head)
        #expect(machine.headDue() == nil)
        guard case .resume = machine.headRequested(by: "head") else { return #expect(Bool(false)) }
    }

    @Test func `a small body is there when its head is handed over`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        guard case .proceed = machine.receivedChunk(Data([1]), demand: "d") else { return #expect(Bool(false)) }
        #expect(machine.finished().head?.waiter == "head")
        #expect(machine.headDue() == nil)
        guard case .resume = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
        guard case .end = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
    }

    @Test func `a head that arrived before a failure is handed over, and the failure comes after it`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        let action = machine.failed(Broken())
        #expect(action.head?.waiter == "head" && action.headWaiter == nil)
        guard case .fail = machine.batchRequested(by: "r") else { return #expect(Bool(false)) }
    }

    @Test func `closing between a head's arrival and its hand-over fails the one who waits`() {
        var machine = Machine(bufferSize: 4)
        _ = machine.headRequested(by: "head")
        machine.receivedHead(head)
        #expect(machine.closed(CancellationError()).headWaiter == "head")
        #expect(machine.headDue() == nil)
    }
}
