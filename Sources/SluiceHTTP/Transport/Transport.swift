/// Opens HTTP exchanges: the seam between what Sluice does with a response and who carries it.
///
///     let response = try await transport.open(TransportRequest(url))
///     for try await chunk in response.body { consume(chunk) }
///
/// ``HTTPTransport`` is the one that talks to servers; ``ScriptedTransport`` answers from memory, for tests.
public protocol Transport: Sendable {
    /// Sends `request` and returns when the head of the final response is there; the body streams afterwards.
    ///
    /// Redirects have been followed. A status that says failure, such as 404, is a response like any other and no error.
    ///
    /// - Throws: ``TransferError``; `CancellationError` if the task is cancelled before the head arrives, after which
    ///   nothing is left open.
    func open(_ request: TransportRequest) async throws -> TransportResponse
}
