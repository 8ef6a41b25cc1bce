/// A type that sends HTTP requests and returns streaming responses.
///
/// ``HTTPTransport`` sends requests to servers. ``ScriptedTransport`` answers from memory, for tests.
public protocol Transport: Sendable {
    /// Sends `request` and returns the response when its head has arrived. The body arrives while the caller reads it.
    ///
    /// ``HTTPTransport`` follows redirects and returns the response of the last URL. A failure status, such as 404, is a response and not
    /// an error.
    ///
    /// - Throws: ``TransferError``; `CancellationError` if the task is cancelled before the head arrives. After an error, the exchange is
    ///   closed.
    func open(_ request: TransportRequest) async throws -> TransportResponse
}
