import HTTPTypes
import SluiceHTTP
import Testing

@testable import SluiceDownloads

@Suite struct `The transfer's rules` {
    @Test func `a body of the announced length is complete`() throws {
        var machine = TransferStateMachine()
        #expect(try machine.responded(status: .ok, contentLength: 5) == 5)
        #expect(try machine.received(2) == 2)
        #expect(try machine.received(3) == 5)
        #expect(try machine.ended() == 5)
    }

    @Test func `an empty body and one without an announced length are complete when they end`() throws {
        var empty = TransferStateMachine()
        _ = try empty.responded(status: .ok, contentLength: 0)
        #expect(try empty.ended() == 0)
        var unannounced = TransferStateMachine()
        #expect(try unannounced.responded(status: .ok, contentLength: nil) == nil)
        _ = try unannounced.received(7)
        #expect(try unannounced.ended() == 7)
    }

    @Test func `a body that is shorter or longer than announced is refused`() throws {
        var short = TransferStateMachine()
        _ = try short.responded(status: .ok, contentLength: 5)
        _ = try short.received(4)
        let failure = #expect(throws: TransferFailure.self) { try short.ended() }
        guard case .length(5, 4) = failure?.reason else { return #expect(Bool(false)) }

        var long = TransferStateMachine()
        _ = try long.responded(status: .ok, contentLength: 5)
        #expect(throws: TransferFailure.self) { try long.received(6) }
    }

    @Test(arguments: [100, 201, 204, 206, 300, 302, 304, 400, 401, 404, 500, 503])
    func `only a whole representation is a file`(status: Int) {
        var machine = TransferStateMachine()
        #expect(throws: TransferFailure.self) {
            try machine.responded(status: .init(code: status), contentLength: 5)
        }
    }
}
