/// Carries requests: what of ``HTTPTransport`` depends on the platform. libcurl does on Linux and macOS, URLSession elsewhere.
package protocol TransportEngine: AnyObject, Sendable {
    /// What carries the exchange that is made next.
    var carrier: any ExchangeCarrier { get }
    /// Lets the engine end when the exchanges under way have ended. No exchange is started afterwards.
    func retire()
    /// Ends all exchanges, and returns when nothing of the engine runs any more.
    func shutdown() async
}

/// The part of an engine that an exchange talks to.
///
/// It knows nothing of redirects and policies. It tells an exchange what arrives, in order, on one thread or queue.
package protocol ExchangeCarrier: AnyObject, Sendable {
    /// Sends the request. What comes of it goes to the exchange.
    func start(_ exchange: Exchange)
    /// Goes on where the exchange was full.
    func resume(_ exchange: Exchange)
    /// The exchange is over for its reader.
    func stop(_ exchange: Exchange)
}
