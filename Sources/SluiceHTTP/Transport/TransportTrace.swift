import Synchronization

/// One step of an exchange, for a trace. Each redirect is a separate exchange.
///
/// The steps of an exchange come in this order: `sent`, then `answered` unless the exchange fails earlier, then `ended` or `failed`. Steps
/// of different exchanges are reported concurrently. The requests and heads contain secrets: show `HTTPField.redactedForDisplay` instead.
package struct TransportTrace: Sendable {
    package enum Step: Sendable {
        case sent(TransportRequest)
        case answered(ResponseHead)
        /// The reader reached the end of the body, or dropped a body that had arrived completely.
        case ended(TransportTimings?)
        /// The exchange failed; a `CancellationError` if the reader dropped the body before its end.
        case failed(any Error)
    }

    /// Counted from 1 in each transport.
    package var exchange: Int
    package var step: Step

    package init(exchange: Int, step: Step) {
        self.exchange = exchange
        self.step = step
    }
}

/// Reports the steps of one exchange. The end is reported only once.
final class ExchangeTracer: Sendable {
    private let exchange: Int
    private let report: @Sendable (TransportTrace) -> Void
    private let hasEnded = Atomic(false)

    init(exchange: Int, _ report: @escaping @Sendable (TransportTrace) -> Void) {
        self.exchange = exchange
        self.report = report
    }

    func sent(_ request: TransportRequest) { report(TransportTrace(exchange: exchange, step: .sent(request))) }

    func answered(_ head: ResponseHead) { report(TransportTrace(exchange: exchange, step: .answered(head))) }

    func ended(_ timings: TransportTimings?) { end(with: .ended(timings)) }

    func failed(_ error: any Error) { end(with: .failed(error)) }

    private func end(with step: TransportTrace.Step) {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        report(TransportTrace(exchange: exchange, step: step))
    }
}
