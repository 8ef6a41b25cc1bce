import HTTPTypes
import SluiceHTTP

/// The rules of one file's transfer: what a response means, and when a body is complete.
///
///     awaiting ── responded ──▶ receiving ── received … ended ──▶ complete
///                     └── throws a reason ──┴──────── throws a reason
struct TransferStateMachine {
    private enum State {
        case awaitingResponse
        case receiving(announced: Int64?, received: Int64)
        case complete
    }

    private var state = State.awaitingResponse

    /// The head is there: returns how many bytes will come, if the server says so.
    mutating func responded(status: HTTPResponse.Status, contentLength: Int64?) throws(TransferFailure) -> Int64? {
        guard case .awaitingResponse = state else { preconditionFailure("a transfer has one response") }
        // Nothing but the representation itself is a file. (A 206 answers a Range, which was not asked for.)
        guard status.code == 200 || status.code == 203 else { throw TransferFailure(.status(status)) }
        state = .receiving(announced: contentLength, received: 0)
        return contentLength
    }

    /// Bytes came: returns how many there are by now.
    mutating func received(_ count: Int) throws(TransferFailure) -> Int64 {
        guard case .receiving(let announced, let before) = state else {
            preconditionFailure("bytes come after the response and before the end")
        }
        let received = before + Int64(count)
        if let announced, received > announced {
            throw TransferFailure(.length(announced: announced, received: received))
        }
        state = .receiving(announced: announced, received: received)
        return received
    }

    /// The body ended: returns its length if it is the one announced.
    ///
    /// A body without an announced length is complete when the connection says so: its last chunk, or its close.
    mutating func ended() throws(TransferFailure) -> Int64 {
        guard case .receiving(let announced, let received) = state else {
            preconditionFailure("a body ends after its response")
        }
        if let announced, received != announced {
            throw TransferFailure(.length(announced: announced, received: received))
        }
        state = .complete
        return received
    }
}

/// A rule that a response broke.
struct TransferFailure: Error {
    var reason: DownloadError.Reason

    init(_ reason: DownloadError.Reason) {
        self.reason = reason
    }
}
