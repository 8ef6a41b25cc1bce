public import HTTPTypes
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A type that sends HTTP requests and returns streaming responses.
///
/// ``HTTPTransport`` sends requests to servers. ``ScriptedTransport`` responds from memory, for tests.
public protocol Transport: Sendable {
    /// Sends `request` and returns the response when its head has arrived. The body arrives while the caller reads it.
    ///
    /// ``HTTPTransport`` follows redirects and returns the last URL's response. A failure status, such as 404, is a response, not an error.
    ///
    /// - Throws: ``TransferError``; `CancellationError` if the task is cancelled before the head arrives. After an error, the exchange is
    ///   closed.
    func open(_ request: TransportRequest) async throws -> TransportResponse
}

// MARK: - The request

/// A request for a ``Transport``: URL, method, header fields and body.
public struct TransportRequest: Sendable {
    /// An absolute `http` or `https` URL.
    public var url: URL
    /// The method.
    public var method: HTTPRequest.Method
    /// The header fields, in addition to those that the transport sets: `Host`, `Accept: */*`, `User-Agent` and
    /// `Accept-Encoding: identity`. A field with the same name here replaces the transport's.
    ///
    /// A redirect to another origin drops these fields, except `Range` and `If-Range` (``RedirectPolicy``).
    public var headerFields: HTTPFields

    /// The bytes to send, or `nil` for a request without a body. Describe them with a `Content-Type` field in ``headerFields``.
    public var body: Data?

    /// The cookies to send, and where to store those that the server sets. `nil` means those of the transport's configuration.
    ///
    /// They also apply to the requests after redirects: each server gets only its own cookies. A `Cookie` field in ``headerFields`` is sent
    /// together with them, but isn't stored.
    public var cookies: CookieJar?

    /// Whether the server may compress the body (`Accept-Encoding`), which then arrives decoded. The default is `false`.
    ///
    /// The response's `Content-Encoding`, `Content-Length` and digests describe the encoded bytes. A body of more than 72 MB that is more
    /// than 1,100 times as long as its encoded form is an error with the code ``TransferError/Code-swift.struct/protocolViolation``, because
    /// gzip can't expand more than that; limit the rest yourself. Don't combine this with `Range`, because the ranges would be those of the
    /// encoded form.
    public var decodesContent = false

    /// The user name and password for the server, if it asks for them. ``HTTPTransport`` sets them.
    package var credential: ServerCredentials.Credential?

    /// Creates a request for `url`.
    public init(
        _ url: URL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: Data? = nil
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
    }
}

extension TransportRequest {
    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    var isIdempotent: Bool {
        [.get, .head, .put, .delete, .options, .trace].contains(method)
    }
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, without its user name, password, query and fragment.
    public var description: String { "\(method.rawValue) \(url.redactedForDisplay)" }

    /// The properties without their secrets, for `dump(_:)` and test reports.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url.redactedForDisplay, "method": method.rawValue,
                "headerFields": headerFields.map { "\($0.name): \($0.redactedInRequest)" },
                "body": body.map { "\($0.count) bytes" } as Any,
            ])
    }
}

// MARK: - The response

/// A response whose head has arrived and whose body streams.
public struct TransportResponse: Sendable {
    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields, in the order of arrival.
    public var headerFields: HTTPFields
    /// The URL of the response: the request's URL, or the target of the last redirect.
    public var url: URL
    /// The number of redirects that were followed.
    public var redirectCount: Int
    /// The bytes of the body, as they arrive. Dropping the last reference to the body ends the exchange.
    public var body: ResponseBody

    /// Creates a response. Transports call this initializer.
    public init(
        status: HTTPResponse.Status, headerFields: HTTPFields = [:], url: URL, redirectCount: Int = 0,
        body: ResponseBody
    ) {
        self.status = status
        self.headerFields = headerFields
        self.url = url
        self.redirectCount = redirectCount
        self.body = body
    }

    /// The durations of the exchange's steps, or `nil` if the transport doesn't measure them (``ScriptedTransport``). The total is `nil`
    /// until the body has arrived, so read this property again after the end of the body.
    public var timings: TransportTimings? { body.timings }

    /// The fields that the server sent after the body (RFC 9110, section 6.5). Empty until the end of the body has been read, and for transports
    /// that don't receive them (``ScriptedTransport``, and `URLSession`).
    public var trailers: HTTPFields { body.trailers }

    /// The length in bytes that `Content-Length` announces (RFC 9110, section 8.6), or `nil` if it is missing or not a number. Identical
    /// repeated values count as one; different values count as missing.
    public var contentLength: Int64? {
        guard let field = headerFields.value(of: .contentLength) else { return nil }
        if field.isDigits { return Int64(field) }
        let values = headerFields.lengths
        guard values.count == 1, let digits = values.first, digits.isDigits else { return nil }
        return Int64(digits)
    }
}

extension TransportResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the URL, without its user name, password, query and fragment.
    public var description: String { "\(status.code) from \(url.redactedForDisplay)" }

    /// The properties without their secrets, for `dump(_:)` and test reports.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "status": status.code, "url": url.redactedForDisplay, "redirectCount": redirectCount,
                "headerFields": headerFields.map { "\($0.name): \($0.redactedForDisplay)" },
            ])
    }
}

extension HTTPFields {
    /// Returns the same as the subscript: the value of a name, or all its values with commas between them. The subscript joins even a single
    /// value, which takes twenty times as long.
    package func value(of name: HTTPField.Name) -> String? {
        var value: String?
        // By position, because a loop over the fields would copy each of them.
        for position in indices where self[position].name == name {
            if value != nil { return self[name] }
            value = self[position].value
        }
        return value
    }

    /// The distinct values of `Content-Length`. More than one is an attempt to hide part of the body, or to smuggle another response into
    /// it (RFC 9112, section 6.3).
    var lengths: Set<String> {
        guard let value = value(of: .contentLength) else { return [] }
        return value.isDigits ? [value] : Set(value.split(separator: ",").map { $0.trimmingSpaces() })
    }

    /// The unsupported transfer codings of a response, or `nil` for no coding and for `chunked` alone (RFC 9112, section 6.1).
    var unsupportedTransferCoding: String? {
        guard let codings = value(of: .transferEncoding)?.trimmingSpaces().lowercased() else { return nil }
        return codings == "chunked" ? nil : codings
    }
}

// MARK: - The body

/// The body of a response: an asynchronous sequence of chunks of bytes, in order.
///
///     for try await chunk in response.body { try await output.write(chunk) }
///
/// A body can be iterated once, by one task at a time. The buffer is bounded, so a slow reader slows the server down.
///
/// - Cancellation: The next chunk throws `CancellationError` immediately, which ends the exchange. The buffered bytes are dropped.
/// - Failure: A ``TransferError``. It is thrown after the chunks that arrived before it, and ends the iteration.
public struct ResponseBody: AsyncSequence, Sendable {
    private let reader: Reader

    /// Creates a body that reads from `source`. Transports call this initializer.
    public init(_ source: any ResponseBodySource) {
        reader = Reader(source)
    }

    /// Returns an iterator over the remaining chunks. All iterators of a body share one position.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: reader)
    }

    /// Returns the remaining bytes if there are at most `maximumSize` of them.
    ///
    /// - Precondition: No other task is waiting for bytes of this body.
    /// - Throws: ``TooLong`` as soon as more than `maximumSize` bytes have arrived, or the error of reading the body. The bytes that were
    ///   read are lost.
    public func collect(upTo maximumSize: Int) async throws -> Data {
        var data = Data()
        while let batch = try await reader.nextBatch() {
            for chunk in batch {
                guard chunk.count <= maximumSize - data.count else { throw TooLong(maximumSize: maximumSize) }
                data.append(chunk)
            }
        }
        return data
    }

    /// Ends the exchange, as if the body and its response had been released. The body has no bytes after that.
    package func close() { reader.close() }

    var timings: TransportTimings? { reader.timings }

    var trailers: HTTPFields { reader.trailers }

    /// The error that ``ResponseBody/collect(upTo:)`` throws if the body has more bytes than the limit.
    public struct TooLong: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// The number that was passed to ``ResponseBody/collect(upTo:)``.
        public let maximumSize: Int

        /// The problem and a remedy, on one line.
        public var description: String {
            "The response body has more than \(maximumSize) bytes. Raise the limit, or read the body chunk by chunk."
        }

        /// The same text as ``description``.
        public var errorDescription: String? { description }
    }

    /// An iterator that reads a body chunk by chunk, or in batches of chunks.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        /// Returns the next chunk, which is never empty, or `nil` at the end of the body.
        ///
        /// - Precondition: No other task is waiting for bytes of this body.
        public mutating func next() async throws -> Data? {
            try await reader.nextChunk()
        }

        /// Waits until at least one chunk has arrived, and returns all unread chunks, or `nil` at the end of the body.
        ///
        /// Reading in batches suspends less often than ``next()``, and suits writers that take several chunks at once.
        ///
        /// - Precondition: No other task is waiting for bytes of this body.
        public mutating func nextBatch() async throws -> [Data]? {
            try await reader.nextBatch()
        }
    }

    /// The state that the iterators of a body share: its source, and the unread chunks of the current batch.
    fileprivate final class Reader: Sendable {
        private struct State {
            /// `nil` once the body has been closed.
            var source: (any ResponseBodySource)?
            var pending: ArraySlice<Data> = []
        }

        private let state: Lock<State>

        init(_ source: any ResponseBodySource) { state = Lock(State(source: source)) }

        private var source: (any ResponseBodySource)? { state.withLock { $0.source } }
        var timings: TransportTimings? { source?.timings }
        var trailers: HTTPFields { source?.trailers ?? [:] }

        func nextChunk() async throws -> Data? {
            while true {
                if let chunk = state.withLock({ $0.pending.popFirst() }) {
                    if chunk.isEmpty { continue }
                    return chunk
                }
                guard let batch = try await source?.nextBatch() else { return nil }
                state.withLock { $0.pending += batch }
            }
        }

        func nextBatch() async throws -> [Data]? {
            let (source, rest) = state.withLock { state in
                defer { state.pending = [] }
                return (state.source, state.pending)
            }
            return rest.isEmpty ? try await source?.nextBatch() : Array(rest)
        }

        func close() {
            // The source is released after the lock.
            let closed = state.withLock { state in
                defer { state = State() }
                return state
            }
            _ = closed
        }
    }
}

/// The source of a ``ResponseBody``. Implement it when you write a ``Transport``.
public protocol ResponseBodySource: AnyObject, Sendable {
    /// Returns all chunks that have arrived since the last call, and waits if there are none. Returns `nil` at the end of the body, and in
    /// every call after that.
    func nextBatch() async throws -> [Data]?
    /// The durations of the exchange's steps so far, or `nil` (the default) if the transport doesn't measure them.
    var timings: TransportTimings? { get }
    /// The fields after the body, once it has ended, or an empty collection (the default) if the transport doesn't receive them.
    var trailers: HTTPFields { get }
}

extension ResponseBodySource {
    /// The default implementation, which returns `nil`.
    public var timings: TransportTimings? { nil }
    /// The default implementation, which returns an empty collection.
    public var trailers: HTTPFields { [:] }
}

// MARK: - Timings

/// The durations of the steps of an exchange.
///
///     let response = try await HTTPTransport.shared.open(TransportRequest(url))
///     _ = try await response.body.collect(upTo: 1_000_000)
///     if let timings = response.timings { print("first byte after", timings.firstByte, "total", timings.total ?? .zero) }
///
/// After redirects, these are the timings of the last exchange. With a proxy, they measure the proxy's lookup and the connection to it.
public struct TransportTimings: Hashable, Sendable {
    /// The duration of the name lookup, or `nil` if the exchange reused a connection or the engine doesn't measure it.
    public var nameLookup: Duration?
    /// The duration of connecting, after the lookup and without TLS. It is `nil` in the same cases as ``nameLookup``.
    public var connection: Duration?
    /// The duration of the TLS handshake, after connecting. It is `nil` without TLS, and in the same cases as ``nameLookup``.
    public var handshake: Duration?
    /// The time from the start of the exchange to the first byte of its response.
    public var firstByte: Duration
    /// The time from the start of the exchange to the last byte of its response, or `nil` until that byte has arrived.
    public var total: Duration?
    /// Whether the exchange reused an earlier one's connection, or `nil` if the engine doesn't report it.
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
