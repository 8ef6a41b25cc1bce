import Synchronization

/// One step of an exchange, for a trace. Redirects are exchanges of their own.
///
/// The steps of an exchange come in this order: `sent`, then `answered` unless it fails, then `ended` or `failed`. Those of different
/// exchanges come concurrently. Secrets are still in them: see `HTTPField.redactedForDisplay`.
package struct TransportTrace: Sendable {
    package enum Step: Sendable {
        /// The request is handed to the engine.
        case sent(TransportRequest)
        /// The head of the response has arrived.
        case answered(ResponseHead)
        /// The body has arrived and was read.
        case ended(TransportTimings?)
        /// The exchange broke; a `CancellationError` if the reader left before the end.
        case failed(any Error)
    }

    /// The number of the exchange in its transport, from 1 on.
    package var exchange: Int
    package var step: Step

    package init(exchange: Int, step: Step) {
        self.exchange = exchange
        self.step = step
    }
}

/// Tells of the steps of one exchange. Its end is told once.
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
