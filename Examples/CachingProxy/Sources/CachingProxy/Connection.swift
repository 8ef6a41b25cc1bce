import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Adapts SwiftNIO and Hummingbird for a proxy, which must forward every method, and answer `HEAD` without knowing a length.
///
/// - SwiftNIO's parser refuses unknown methods. So it gets another method, and this handler restores the client's method.
/// - SwiftNIO's encoder doesn't know the request. It sends a response without `Content-Length` as chunks. After the head of a response to
///   `HEAD`, it would write the last chunk, which the client would take for the next response. This handler drops that chunk.
final class ProxiedConnection: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let lines = RequestLines()
    /// For each request without a complete response, whether it is a `HEAD`.
    private var requests: CircularBuffer<Bool> = []

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.addHandler(lines, position: .first)
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        switch part {
        case .head(var head):
            lines.startBody(chunked: head.headerFields[.transferEncoding] != nil, head.headerFields[.contentLength])
            if let method = lines.takeReplacedMethod() { head.method = method }
            let named = head.headerFields.namesInConnection
            if named.contains("close") || lines.isVersion10 && !named.contains("keep-alive") {
                // Hummingbird closes the connection only if `close` is the whole value, and it doesn't know the HTTP version.
                head.headerFields.removeAll { named.contains($0.name.canonicalName) || $0.name == .connection }
                head.headerFields[.connection] = "close"
            }
            part = .head(head)
            requests.append(head.method == .head)
        case .body: break
        case .end: lines.startRequest()
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data), requests.popFirst() == true {
            promise?.succeed()
        } else {
            context.write(data, promise: promise)
        }
    }
}

/// Replaces methods that SwiftNIO's parser doesn't know, before the parser sees them.
///
/// The parser gets one request at a time, so that the handler knows where the next one starts: the head that the parser emits tells how the
/// body ends.
private final class RequestLines: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum State {
        case head
        /// The parser has received the head of a request and hasn't emitted it yet.
        case parsing
        case body(left: Int)
        /// A chunked body, which is passed on line by line.
        case lines
        /// The parser has refused a request.
        case failed
    }

    private static let known: Set = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PRI",
    ]
    /// The parser refuses longer heads.
    private static let maximumHeadSize = 1 << 17

    /// The client's method in the request that the parser is about to emit, if that method was replaced.
    private var replacedMethod: HTTPRequest.Method?
    /// Whether the last request uses HTTP/1.0. Its client waits for the end of the connection.
    private(set) var isVersion10 = false
    private var state = State.head
    private var received = ByteBuffer()

    func takeReplacedMethod() -> HTTPRequest.Method? {
        defer { replacedMethod = nil }
        return replacedMethod
    }

    func startBody(chunked: Bool, _ length: String?) {
        state = chunked ? .lines : .body(left: length.flatMap { Int($0) } ?? 0)
    }

    func startRequest() { state = .head }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        while let next = takeNext() { context.fireChannelRead(wrapInboundOut(next)) }
        received.discardReadBytes()
    }

    private func takeNext() -> ByteBuffer? {
        let view = received.readableBytesView
        guard !view.isEmpty else { return nil }
        switch state {
        case .head:
            guard let end = view.firstRange(of: [13, 10, 13, 10])?.upperBound else {
                if view.count > Self.maximumHeadSize { state = .failed }
                return view.count > Self.maximumHeadSize ? takeNext() : nil
            }
            state = .parsing
            return received.readSlice(length: end - view.startIndex).map(replacingMethod)
        case .body(let left):
            let count = min(left, view.count)
            state = left == 0 ? .failed : .body(left: left - count)
            return left == 0 ? takeNext() : received.readSlice(length: count)
        case .lines:
            let end = view.firstIndex(of: 10).map { $0 + 1 } ?? view.endIndex
            return received.readSlice(length: end - view.startIndex)
        case .parsing, .failed:
            state = .failed
            return received.readSlice(length: view.count)
        }
    }

    private func replacingMethod(in head: ByteBuffer) -> ByteBuffer {
        let view = head.readableBytesView
        // A parser ignores empty lines before a request (RFC 9112, section 2.2).
        let line = view.drop { $0 == 13 || $0 == 10 }
        isVersion10 = line.prefix { $0 != 13 }.suffix(9).elementsEqual(" HTTP/1.0".utf8)
        let name = String(decoding: line.prefix { $0 != 32 && $0 != 13 }, as: UTF8.self)
        guard !Self.known.contains(name), let method = HTTPRequest.Method(name) else { return head }
        replacedMethod = method
        var replaced = ByteBuffer(string: "PATCH")
        replaced.writeBytes(line.dropFirst(name.utf8.count))
        return replaced
    }
}
