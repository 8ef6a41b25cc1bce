/// The durations of the steps of an exchange.
///
///     let response = try await HTTPTransport.shared.open(TransportRequest(url))
///     _ = try await response.body.collect(upTo: 1_000_000)
///     if let timings = response.timings { print("first byte after", timings.firstByte, "total", timings.total ?? .zero) }
///
/// After redirects, these are the timings of the last exchange. With a proxy, the lookup and the connection are those of the proxy.
public struct TransportTimings: Hashable, Sendable {
    /// The duration of the name lookup, or `nil` if the exchange reused a connection or the engine doesn't measure it.
    public var nameLookup: Duration?
    /// The duration of connecting, after the lookup and without TLS, or `nil` in the same cases as ``nameLookup``.
    public var connection: Duration?
    /// The duration of the TLS handshake, after connecting, or `nil` without TLS and in the same cases as ``nameLookup``.
    public var handshake: Duration?
    /// The time from the start of the exchange to the first byte of its response.
    public var firstByte: Duration
    /// The time from the start of the exchange to the last byte of its response, or `nil` until that byte has arrived.
    public var total: Duration?
    /// Whether the exchange reused the connection of an earlier one, or `nil` if the engine doesn't report it.
    public var isConnectionReused: Bool?

    /// Creates timings. Transports call this initializer.
    public init(
        nameLookup: Duration? = nil, connection: Duration? = nil, handshake: Duration? = nil, firstByte: Duration,
        total: Duration? = nil, isConnectionReused: Bool? = nil
    ) {
        self.nameLookup = nameLookup
        self.connection = connection
        self.handshake = handshake
        self.firstByte = firstByte
        self.total = total
        self.isConnectionReused = isConnectionReused
    }
}
