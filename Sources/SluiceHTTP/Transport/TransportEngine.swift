/// The platform-dependent part of ``HTTPTransport``: libcurl on Linux and macOS, URLSession elsewhere.
package protocol TransportEngine: AnyObject, Sendable {
    var carrier: any ExchangeCarrier { get }
    /// Ends the engine after the running exchanges. The transport starts no exchange after this call.
    func retire()
    func shutdown() async
}

/// The part of an engine that carries an exchange, without redirects and retries. It reports what arrives to the exchange in order, on
/// one thread or queue.
package protocol ExchangeCarrier: AnyObject, Sendable {
    func start(_ exchange: Exchange)
    /// Continues an exchange that was paused because its buffer was full.
    func resume(_ exchange: Exchange)
    func stop(_ exchange: Exchange)
}
