import NIOCore
import NIOHTTP1

/// Stops a response whose status code has fewer than three digits' worth (RFC 9110, section 15) before the client sees it.
///
/// async-http-client 1.37 ignores every head below 200 as an informational one, but NIO's parser delivers a body and an end
/// after a head such as `HTTP/1.1 000 OK`, which the client's state machine answers by stopping the program.
final class ResponseGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var isClosed = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isClosed { return }
        if case .head(let head) = unwrapInboundIn(data), !(100...599).contains(head.status.code) {
            isClosed = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }

    /// Puts a guard between the parser and the client of a new connection.
    static func install(on channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(ResponseGuard(), position: .after(parser))
        }
    }
}
