import AsyncHTTPClient
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Talks to HTTP servers, over AsyncHTTPClient.
///
///     let transport = HTTPTransport()
///     let response = try await transport.open(TransportRequest(url))
///     …
///     try await transport.shutdown()
///
/// or, where a scope fits, with the shutdown built in:
///
///     try await HTTPTransport.withTransport { transport in … }
///
/// Connections are kept open and used again; each exchange under way has one of its own, and there are as many as that
/// takes: bound them with a limiter. It follows redirects itself (``RedirectPolicy``), asks for the bytes as they
/// are stored (`Accept-Encoding: identity`), and gives up on a server that is silent for ``Configuration/stallTimeout``
/// while it owes bytes: once the request is sent, and while the buffer has room. A slow reader is not mistaken for a slow
/// server. Bodies are not bounded in time.
/// HTTP/1.1 only: downloads want a connection each, not the small shared windows of HTTP/2 streams.
///
/// No thread of the cooperative pool is blocked. A transport that is dropped without ``shutdown()`` leaks its connections;
/// a debug build stops with a message that says so.
public final class HTTPTransport: Transport {
    /// How a transport connects, waits and introduces itself.
    public struct Configuration: Sendable {
        /// How long a server may take to accept a connection, TLS included.
        public var connectTimeout: Duration
        /// How long an open exchange may bring nothing before it fails with ``TransportError/Code/stalled``.
        public var stallTimeout: Duration
        /// Which redirects are followed.
        public var redirects: RedirectPolicy
        /// The `User-Agent` field.
        public var userAgent: String
        /// How many bytes of one body wait in memory for a slow reader before the server is slowed down.
        public var bufferSize: Int

        /// A configuration; each default suits a download over the internet.
        public init(
            connectTimeout: Duration = .seconds(15), stallTimeout: Duration = .seconds(60),
            redirects: RedirectPolicy = RedirectPolicy(), userAgent: String = "Sluice",
            bufferSize: Int = 256 * 1024
        ) {
            precondition(connectTimeout > .zero, "HTTPTransport: connectTimeout must be more than zero")
            precondition(stallTimeout > .zero, "HTTPTransport: stallTimeout must be more than zero")
            precondition(bufferSize >= 1, "HTTPTransport: bufferSize must be at least 1")
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
            self.redirects = redirects
            self.userAgent = userAgent
            self.bufferSize = bufferSize
        }
    }

    /// The configuration it was made with.
    public let configuration: Configuration
    private let client: HTTPClient

    /// A transport that must be shut down in the end.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        var settings = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(configuration.connectTimeout)))
        // A request that waits for a connection would fail with the connect timeout, however well its host answers.
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = .max
        // A refused connection is reported at once; whether to try again is the retry policy's business.
        settings.connectionPool.retryConnectionEstablishment = false
        settings.httpVersion = .http1Only
        settings.http1_1ConnectionDebugInitializer = { ResponseGuard.install(on: $0) }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
    }

    /// Gives `body` a transport, and shuts it down when `body` has ended in whichever way.
    public static func withTransport<Result>(
        configuration: Configuration = Configuration(), _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        let transport = HTTPTransport(configuration: configuration)
        let result: Result
        do {
            result = try await body(transport)
        } catch {
            try? await transport.shutdown()
            throw error
        }
        try await transport.shutdown()
        return result
    }

    /// Ends all exchanges and closes all connections. Completes also when the task is cancelled; a second call does nothing.
    public func shutdown() async throws {
        do {
            try await client.shutdown()
        } catch let error as HTTPClientError where error == .alreadyShutdown {
            // So it is.
        }
    }

    /// Sends `request`, follows redirects, and returns with the head of the response that they lead to.
    public func open(_ request: TransportRequest) async throws -> TransportResponse {
        var request = request
        var redirects = 0
        while true {
            let (head, stream) = try await exchange(request)
            let next = try configuration.redirects.next(
                after: request, status: head.status, headerFields: head.headerFields, count: redirects)
            guard let next else {
                return TransportResponse(
                    status: head.status, headerFields: head.headerFields, url: request.url, redirectCount: redirects,
                    body: ResponseBody(stream))
            }
            request = next
            redirects += 1
        }
    }

    /// One request and the head of its response.
    private func exchange(_ request: TransportRequest) async throws -> (ResponseHead, ExchangeHandle) {
        let outgoing = try makeRequest(request)
        let exchange = Exchange(
            url: request.url, stallTimeout: TimeAmount(configuration.stallTimeout),
            bufferSize: configuration.bufferSize)
        // Whoever drops the handle, on a throw too, ends the exchange.
        let handle = ExchangeHandle(exchange)
        let head = try await exchange.head { delegate in
            self.client.execute(request: outgoing, delegate: delegate)
        }
        if let coding = head.headerFields.unsupportedTransferCoding {
            throw TransportError(
                .protocolViolation, url: request.url, cause: "the transfer coding \"\(coding)\" is not supported")
        }
        return (head, handle)
    }

    private func makeRequest(_ request: TransportRequest) throws -> HTTPClient.Request {
        // The client traps on a port that does not fit into 16 bits.
        guard request.url.hasUsablePort else { throw TransportError(.invalidURL, url: request.url) }
        var headers = HTTPHeaders()
        headers.reserveCapacity(request.headerFields.count + 3)
        for field in request.headerFields { headers.add(name: field.name.rawName, value: field.value) }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: configuration.userAgent) }
        if !headers.contains(name: "Accept-Encoding") { headers.add(name: "Accept-Encoding", value: "identity") }
        if !headers.contains(name: "Accept") { headers.add(name: "Accept", value: "*/*") }
        do {
            return try HTTPClient.Request(
                url: request.url, method: .init(rawValue: request.method.rawValue), headers: headers)
        } catch {
            // The client refuses schemes and hosts that it does not know.
            throw TransportError(.invalidURL, url: request.url)
        }
    }
}

extension TimeAmount {
    /// `duration`, at most the longest time that NIO knows.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let whole = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self = .nanoseconds(whole.overflow ? .max / 4 : min(whole.partialValue, .max / 4) + attoseconds / 1_000_000_000)
    }
}
