#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import HTTPTypes
import Synchronization

/// Talks to HTTP servers: over libcurl on Linux and macOS, over URLSession on iOS, tvOS, watchOS and visionOS.
///
///     let response = try await HTTPTransport.shared.open(TransportRequest(url))
///     for try await chunk in response.body { consume(chunk) }
///
/// Connections are kept open and used again. Each exchange under way has one of its own, and there are as many as that
/// takes: bound them with a limiter. It follows redirects itself (``RedirectPolicy``), asks for the bytes as they
/// are stored (`Accept-Encoding: identity`), and gives up on a server that is silent for ``Configuration/stallTimeout``
/// while it owes bytes: once the request is sent, and while the buffer has room. A slow reader is not mistaken for a slow
/// server. Bodies are not bounded in time. HTTP/1.1 only: downloads want a connection each, not the small shared windows of
/// HTTP/2 streams.
///
/// A connection that the server has closed in the meantime fails the request that uses it again. The transport then sends that
/// request once more, over a new connection, if its method is idempotent (RFC 9110, section 9.2.2): GET, HEAD, PUT, DELETE,
/// OPTIONS and TRACE. Requests of other methods always get a new connection, and are sent once.
///
/// Two threads of its own drive all exchanges, or one as long as there is one exchange at a time; no thread of the cooperative pool is
/// blocked. They end when there was nothing to do for half a minute.
///
/// What depends on the engine:
///
/// | | libcurl | URLSession |
/// | --- | --- | --- |
/// | ``Configuration/connectTimeout`` | yes | part of ``Configuration/stallTimeout`` |
/// | ``Configuration/proxy`` | yes | the system's settings; another value is an error |
/// | ``Configuration/certificateAuthorities``, ``Configuration/clientCertificate`` | yes | an error |
/// | A body that is coded without being asked for | arrives as it is | arrives decoded |
/// | Fields of the same name | stay apart | arrive as one, separated by commas |
/// | ``TransportResponse/timings`` | all | to the first byte, and in total |
///
/// Transfers that go on while an app is suspended (`URLSessionConfiguration.background`) are not what this is for: the system then
/// writes files by itself, without limits, queues, checkpoints and digests of ours. Hand such a transfer to URLSession yourself.
public final class HTTPTransport: Transport {
    /// How a transport connects, waits and introduces itself.
    public struct Configuration: Sendable {
        /// How long a server may take to accept a connection, name lookup and TLS included.
        public var connectTimeout: Duration
        /// How long an open exchange may bring nothing before it fails with ``TransferError/Code/stalled``.
        public var stallTimeout: Duration
        /// Which redirects are followed.
        public var redirects: RedirectPolicy
        /// The `User-Agent` field.
        public var userAgent: String
        /// How many bytes of one body wait in memory for a slow reader before the server is slowed down. A piece of a body has up to
        /// 64 KiB, so that as much may come on top.
        public var bufferSize: Int
        /// Which proxies are asked.
        public var proxy: ProxySettings
        /// A file with the certificates of the authorities to trust (PEM); nil for those of the system.
        public var certificateAuthorities: URL?
        /// A file with the certificate that this client shows to servers that ask for one (PEM); nil for none.
        public var clientCertificate: URL?
        /// A file with the key of ``clientCertificate`` (PEM); nil if that file has it too.
        public var clientKey: URL?
        /// Told of each step of each exchange, from several threads. Must be quick and must not block.
        package var trace: (@Sendable (TransportTrace) -> Void)?

        /// A configuration; each default suits a download over the internet.
        public init(
            connectTimeout: Duration = .seconds(15), stallTimeout: Duration = .seconds(60),
            redirects: RedirectPolicy = RedirectPolicy(), userAgent: String = "Sluice",
            bufferSize: Int = 256 * 1024, proxy: ProxySettings = .environment, certificateAuthorities: URL? = nil,
            clientCertificate: URL? = nil, clientKey: URL? = nil
        ) {
            precondition(connectTimeout > .zero, "HTTPTransport: connectTimeout must be more than zero")
            precondition(stallTimeout > .zero, "HTTPTransport: stallTimeout must be more than zero")
            precondition(bufferSize >= 1, "HTTPTransport: bufferSize must be at least 1")
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
            self.redirects = redirects
            self.userAgent = userAgent
            self.bufferSize = bufferSize
            self.proxy = proxy
            self.certificateAuthorities = certificateAuthorities
            self.clientCertificate = clientCertificate
            self.clientKey = clientKey
        }
    }

    /// The transport of the process, for all that needs no configuration of its own. It can't be shut down.
    public static let shared = HTTPTransport(
        configuration: Configuration(), engine: engine(Configuration()), isShared: true)

    /// The configuration it was made with.
    public let configuration: Configuration
    private let isShared: Bool
    private let engine: any TransportEngine
    /// How many exchanges were traced.
    private let tracedCount = Atomic(0)

    /// A transport with threads and connections of its own. They end with ``shutdown()``, or when nothing refers to it any more and
    /// the responses that it opened have been read or dropped.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, engine: Self.engine(configuration))
    }

    /// A transport over another engine than the platform's.
    package init(configuration: Configuration, engine: any TransportEngine, isShared: Bool = false) {
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

    /// Gives `body` a transport, and shuts it down when `body` has ended in whichever way.
    public static func withTransport<Result>(
        configuration: Configuration = Configuration(), _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        try await HTTPTransport(configuration: configuration).whileOpen(body)
    }

    /// Calls `body`, and shuts the transport down when that has ended in whichever way.
    package func whileOpen<Result>(_ body: (HTTPTransport) async throws -> Result) async throws -> Result {
        let result: Result
        do {
            result = try await body(self)
        } catch {
            await shutdown()
            throw error
        }
        await shutdown()
        return result
    }

    /// Ends all exchanges and closes all connections. Completes also when the task is cancelled; a second call does nothing.
    ///
    /// - Precondition: It is not ``shared``.
    public func shutdown() async {
        precondition(
            !isShared,
            "HTTPTransport.shared belongs to the whole process: make a transport of your own to shut it down.")
        await engine.shutdown()
    }

    /// Sends `request`, follows redirects, and returns with the head of the response that they lead to.
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

    /// One request and the head of its response.
    private func exchange(_ request: TransportRequest) async throws -> (ResponseHead, ExchangeBody) {
        guard let address = request.url.addressForTransport else {
            throw TransferError(.invalidURL, url: request.url)
        }
        var outgoing = request
        if outgoing.headerFields[.userAgent] == nil { outgoing.headerFields[.userAgent] = configuration.userAgent }
        if outgoing.headerFields[.acceptEncoding] == nil { outgoing.headerFields[.acceptEncoding] = "identity" }
        let tracer = configuration.trace.map {
            ExchangeTracer(exchange: tracedCount.add(1, ordering: .relaxed).newValue, $0)
        }
        let exchange = Exchange(outgoing, address: address, on: engine.carrier, bufferSize: configuration.bufferSize)
        // When the last reference to the body goes, on a throw too, the exchange ends.
        let body = ExchangeBody(exchange, tracer)
        tracer?.sent(outgoing)
        do {
            let head = try await exchange.head()
            tracer?.answered(head)
            if let coding = head.headerFields.unsupportedTransferCoding {
                throw TransferError(
                    .protocolViolation, url: request.url, detail: "the transfer coding \"\(coding)\" is not supported")
            }
            return (head, body)
        } catch {
            tracer?.failed(error)
            throw error
        }
    }
}

extension TransportRequest {
    /// Whether sending it twice does no more than sending it once (RFC 9110, section 9.2.2).
    var isIdempotent: Bool {
        [.get, .head, .put, .delete, .options, .trace].contains(method)
    }
}
