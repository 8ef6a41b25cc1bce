/// How long the steps of an exchange took.
///
///     let response = try await HTTPTransport.shared.open(TransportRequest(url))
///     _ = try await response.body.collect(upTo: 1_000_000)
///     if let timings = response.timings { print("first byte after", timings.firstByte, "total", timings.total ?? .zero) }
///
/// After redirects these are the times of the last exchange. Through a proxy, the lookup and the connection are those of the proxy.
public struct TransportTimings: Hashable, Sendable {
    /// How long the lookup of the host's name took; nil if the exchange used an open connection, or if the engine doesn't tell.
    public var nameLookup: Duration?
    /// How long connecting took, after the lookup and without TLS; nil as ``nameLookup`` is.
    public var connection: Duration?
    /// How long TLS took to agree on keys, after connecting; nil without TLS, and as ``nameLookup`` is.
    public var handshake: Duration?
    /// From the start of the exchange to the first byte of its response.
    public var firstByte: Duration
    /// From the start of the exchange to the last byte of its response; nil until that has arrived.
    public var total: Duration?
    /// Whether the exchange used a connection of an earlier one; nil if the engine doesn't tell.
    public var isConnectionReused: Bool?

    /// Timings from their parts; for transports.
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
