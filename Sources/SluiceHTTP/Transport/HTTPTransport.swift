import HTTPTypes
import SluiceFiles
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A transport that sends requests to HTTP servers. It uses libcurl on Linux and macOS, and URLSession on iOS, tvOS, watchOS and visionOS.
///
///     let response = try await HTTPTransport.shared.open(TransportRequest(url))
///     for try await chunk in response.body { consume(chunk) }
///
/// **Connections.** The transport keeps connections open and reuses them. It doesn't limit the number of concurrent exchanges; use a
/// limiter from SluiceConcurrency for that. With libcurl, each running exchange has its own HTTP/1.1 connection, unless
/// ``Configuration/connections`` asks for HTTP/2.
///
/// **Time limits.** An exchange fails with ``TransferError/Code-swift.struct/stalled`` when the server sends nothing for
/// ``Configuration/stallTimeout`` after the request is sent. While the reader's buffer is full, the clock stops. There is no time limit for
/// a whole body.
///
/// **Size limits.** All heads of a response, including informational ones, and its trailers may have 300 KiB and 5000 fields in total. More
/// is an error with the code ``TransferError/Code-swift.struct/protocolViolation``, and so is a `Content-Length` that isn't a number of
/// bytes. There is no size limit for bodies.
///
/// **Resent requests.** The server may close an idle connection just before a request reuses it. With libcurl, the transport then resends
/// the request once, over a new connection, if its method is idempotent (RFC 9110, section 9.2.2): GET, HEAD, PUT, DELETE, OPTIONS or
/// TRACE. Requests with other methods always get a new connection and are sent once.
///
/// **Threads.** The transport never blocks the cooperative thread pool. With libcurl, one or two separate threads drive all exchanges. They
/// end after 30 seconds without an exchange.
///
/// **Engines** differ as follows:
///
/// | | libcurl | URLSession |
/// | --- | --- | --- |
/// | ``Configuration/connectTimeout`` | applies | included in ``Configuration/stallTimeout`` |
/// | ``Configuration/proxy`` | applies | `.environment` and `.none` use the system's settings, another value is an error |
/// | ``Configuration/connections`` | apply | the system chooses the version of HTTP; other settings are an error |
/// | ``Configuration/certificateAuthorities``, ``Configuration/clientCertificate`` | apply | an error |
/// | A body that is encoded even though `identity` was requested | arrives encoded | arrives decoded |
/// | Header fields with the same name | stay separate | are joined with commas |
/// | A request without `Accept`, or with an empty ``Configuration/userAgent`` | gets `Accept: */*`, and no `User-Agent` | gets the system's fields |
/// | ``Configuration/credentials`` | apply | the system chooses when to send them |
/// | ``Configuration/cookies``, ``TransportRequest/cookies`` | apply | an error |
/// | ``TransportResponse/trailers`` | yes | no |
/// | ``TransportResponse/timings`` | all | ``TransportTimings/firstByte`` and ``TransportTimings/total`` |
///
/// For transfers that continue while an app is suspended (`URLSessionConfiguration.background`), use URLSession directly.
public final class HTTPTransport: Transport {
    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// The time limit for connecting to a server, including name lookup and TLS.
        public var connectTimeout: Duration
        /// How long the server may send nothing before an exchange fails with ``TransferError/Code-swift.struct/stalled``.
        public var stallTimeout: Duration
        /// The policy for following redirects.
        public var redirects: RedirectPolicy
        /// The `User-Agent` field for requests that have none. If it is empty, such requests are sent without the field.
        public var userAgent: String
        /// How many bytes of a body to buffer for a slow reader. When the buffer is full, the transport stops receiving, which slows the
        /// server down. The last piece may exceed the limit by up to 64 KiB.
        public var bufferSize: Int
        /// The proxies to use.
        public var proxy: ProxySettings
        /// How to connect: the version of HTTP, the addresses, and the network interface.
        public var connections: ConnectionSettings
        /// A PEM file with the certificate authorities to trust, or `nil` for the system's. They apply to servers and to `https` proxies.
        public var certificateAuthorities: URL?
        /// A PEM file with the client certificate to present to servers that request one, or `nil` for none.
        public var clientCertificate: URL?
        /// A PEM file with the private key of ``clientCertificate``, or `nil` if that file contains it. An encrypted key is an error with
        /// the code ``TransferError/Code-swift.struct/tlsFailed``, because there is no way to ask for its passphrase.
        public var clientKey: URL?
        /// The user names and passwords for servers that ask for them.
        ///
        /// A `ResourceCache` doesn't see them: it would give one user's response to another. Use header fields with a cache.
        public var credentials: ServerCredentials
        /// The cookies of requests that have no jar of their own; `nil` for none.
        ///
        /// A `ResourceCache` doesn't see them, as with ``credentials``.
        public var cookies: CookieJar?
        /// The stall timeout, capped at 68 years so that time arithmetic doesn't overflow.
        package var usableStallTimeout: Duration { min(stallTimeout, .seconds(Int64(Int32.max))) }

        /// A closure that is called for each step of each exchange, from several threads. It must not block.
        package var trace: (@Sendable (TransportTrace) -> Void)?

        /// Creates a configuration. The defaults suit downloads over the internet.
        ///
        /// - Precondition: Both timeouts are more than zero, and `bufferSize` is at least 1.
        public init(
            connectTimeout: Duration = .seconds(15), stallTimeout: Duration = .seconds(60),
            redirects: RedirectPolicy = RedirectPolicy(), userAgent: String = "Sluice",
            bufferSize: Int = 256 * 1024, proxy: ProxySettings = .environment, certificateAuthorities: URL? = nil,
            clientCertificate: URL? = nil, clientKey: URL? = nil, credentials: ServerCredentials = ServerCredentials(),
            connections: ConnectionSettings = ConnectionSettings(), cookies: CookieJar? = nil
        ) {
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
            self.redirects = redirects
            self.userAgent = userAgent
            self.bufferSize = bufferSize
            self.proxy = proxy
            self.certificateAuthorities = certificateAuthorities
            self.clientCertificate = clientCertificate
            self.clientKey = clientKey
            self.credentials = credentials
            self.connections = connections
            self.cookies = cookies
            check()
        }

        /// Traps on invalid values, which would otherwise lead to an exchange that waits forever or a misleading message.
        fileprivate func check() {
            precondition(
                connectTimeout > .zero,
                "A transport's connectTimeout must be greater than zero; it is \(connectTimeout).")
            precondition(
                stallTimeout > .zero, "A transport's stallTimeout must be greater than zero; it is \(stallTimeout).")
            precondition(bufferSize >= 1, "A transport's bufferSize must be at least 1; it is \(bufferSize).")
        }
    }

    /// A transport with the default configuration that the whole process shares. It can't be shut down.
    public static let shared = HTTPTransport(
        configuration: Configuration(), engine: engine(Configuration()), isShared: true)

    /// The configuration that the transport was created with.
    public let configuration: Configuration
    /// The largest number of fields in a response's head. `HTTPFields` traps at 65,535 fields, which would fit into a head of 300 KiB.
    package static let maximumFields = 5000

    private let isShared: Bool
    private let engine: any TransportEngine
    private let tracedCount = Atomic(0)

    /// Creates a transport with its own threads and connections. They end after ``shutdown()``, or once the transport has been dropped and
    /// its responses have been dropped or read to their end.
    ///
    /// - Precondition: The configuration's timeouts are more than zero, and its buffer size is at least 1.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, engine: Self.engine(configuration))
    }

    package init(configuration: Configuration, engine: any TransportEngine, isShared: Bool = false) {
        // Check again, because properties can be set.
        configuration.check()
        self.configuration = configuration
        self.engine = engine
        self.isShared = isShared
    }

    private static func engine(_ configuration: Configuration) -> any TransportEngine {
        #if !canImport(Darwin) || os(macOS)
        CurlEngine(configuration)
        #else
        URLSessionEngine(configuration)
        #endif
    }

    deinit { engine.retire() }

    /// Calls `body` with a new transport, and shuts the transport down when `body` returns or throws.
    ///
    /// - Precondition: The configuration's timeouts are more than zero, and its buffer size is at least 1.
    public static func withTransport<Result>(
        configuration: Configuration = Configuration(), _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        try await HTTPTransport(configuration: configuration).whileOpen(body)
    }

    package func whileOpen<Result>(_ body: (HTTPTransport) async throws -> Result) async throws -> Result {
        try await scoped {
            try await body(self)
        } finally: {
            await shutdown()
        }
    }

    /// Ends all exchanges, closes all connections, and waits until that is done. Further calls have no effect.
    ///
    /// The running exchanges fail with ``TransferError/Code-swift.struct/shutDown``. The shutdown completes even if the task is cancelled.
    ///
    /// - Precondition: The transport isn't ``shared``.
    public func shutdown() async {
        precondition(
            !isShared,
            "HTTPTransport.shared must not be shut down, because the whole process uses it. Create another transport.")
        await engine.shutdown()
    }

    /// Sends `request`, follows redirects, and returns the final response when its head has arrived.
    public func open(_ request: TransportRequest) async throws -> TransportResponse {
        var request = request
        var redirects = 0
        while true {
            let (head, body) = try await exchange(request)
            let next = try configuration.redirects.next(
                after: request, status: head.status, headerFields: head.headerFields, count: redirects)
            guard let next else {
                return TransportResponse(
                    status: head.status, headerFields: head.headerFields, url: request.url, redirectCount: redirects,
                    body: ResponseBody(body))
            }
            request = next
            redirects += 1
        }
    }

    private func exchange(_ request: TransportRequest) async throws -> (ResponseHead, ExchangeBody) {
        guard let address = request.url.addressForTransport else {
            throw TransferError(.invalidURL, url: request.url)
        }
        var outgoing = request
        if !outgoing.headerFields.contains(.userAgent), !configuration.userAgent.isEmpty {
            outgoing.headerFields[.userAgent] = configuration.userAgent
        }
        if outgoing.decodesContent {
            // libcurl's own field names what it can decode.
            outgoing.headerFields[.acceptEncoding] = nil
        } else if !outgoing.headerFields.contains(.acceptEncoding) {
            outgoing.headerFields[.acceptEncoding] = "identity"
        }
        if outgoing.cookies == nil { outgoing.cookies = configuration.cookies }
        if !outgoing.headerFields.contains(.authorization), request.url.user(percentEncoded: true) == nil {
            outgoing.credential = configuration.credentials.credential(for: request.url)
        }
        if outgoing.credential?.isUsable == false { throw TransferError(.invalidCredentials, url: request.url) }
        let tracer = configuration.trace.map {
            ExchangeTracer(exchange: tracedCount.add(1, ordering: .relaxed).newValue, $0)
        }
        let exchange = Exchange(outgoing, address: address, on: engine.carrier, bufferSize: configuration.bufferSize)
        // The exchange ends when the last reference to the body is gone, even after a throw.
        let body = ExchangeBody(exchange, tracer)
        tracer?.sent(outgoing)
        do {
            let head = try await exchange.head()
            tracer?.answered(head)
            if let coding = head.headerFields.unsupportedTransferCoding {
                throw TransferError(
                    .protocolViolation, url: request.url, detail: "the transfer coding '\(coding)' isn't supported")
            }
            let lengths = head.headerFields.lengths
            if lengths.count > 1 {
                throw TransferError(
                    .protocolViolation, url: request.url, detail: "its Content-Length fields contradict each other")
            }
            // An engine that ignores such a length couldn't tell a truncated body from a complete one.
            if let length = lengths.first, !length.isDigits || Int64(length) == nil {
                throw TransferError(
                    .protocolViolation, url: request.url, detail: "its Content-Length isn't a number of bytes")
            }
            return (head, body)
        } catch {
            tracer?.failed(error)
            throw error
        }
    }
}

// MARK: - Traces

/// One step of an exchange, for a trace. Each redirect is a separate exchange.
///
/// The steps of an exchange come in this order: `sent`, then `answered` unless the exchange fails earlier, then `ended` or `failed`. Steps
/// of different exchanges are reported concurrently. The requests and heads contain secrets: show `HTTPField.redactedForDisplay` instead.
package struct TransportTrace: Sendable {
    package enum Step: Sendable {
        case sent(TransportRequest)
        case answered(ResponseHead)
        /// The reader reached the end of the body, or dropped a body after all of it had arrived.
        case ended(TransportTimings?)
        /// The exchange failed; a `CancellationError` if the reader dropped the body before its end.
        case failed(any Error)
    }

    /// The number of the exchange, counted from 1 in each transport.
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

// MARK: - Engines

/// The platform-dependent part of ``HTTPTransport``: libcurl on Linux and macOS, URLSession elsewhere.
package protocol TransportEngine: AnyObject, Sendable {
    var carrier: any ExchangeCarrier { get }
    /// Ends the engine once the running exchanges are over. The transport starts no exchange after this call.
    func retire()
    func shutdown() async
}

/// The part of an engine that performs an exchange, without redirects and retries. It reports what arrives to the exchange in order, on one
/// thread or queue.
package protocol ExchangeCarrier: AnyObject, Sendable {
    func start(_ exchange: Exchange)
    /// Continues an exchange that was paused because its buffer was full.
    func resume(_ exchange: Exchange)
    func stop(_ exchange: Exchange)
}
