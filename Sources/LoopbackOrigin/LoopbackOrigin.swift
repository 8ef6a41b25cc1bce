import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import SluiceConcurrency
import SluiceLock

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An HTTP server on 127.0.0.1, on a port that the system chooses, which answers as a closure says.
///
///     try await LoopbackOrigin.serve { request in OriginResponse(body: Array(request.target.utf8)) } during: { origin in
///         try await fetch(origin.url("/hello"))
///     }
///
/// `sluice demo` and the tests download from it. It counts what it saw: a client's own count of its requests proves
/// nothing. A request counts as being answered until the last byte of its body is about to be sent: once the client has
/// that, its next request may come before anything else happens here.
package final class LoopbackOrigin: Sendable {
    /// Decides the answer to a request.
    package typealias Handler = @Sendable (OriginRequest) async -> OriginResponse

    /// What the origin has seen so far.
    package struct Metrics: Sendable {
        /// Requests answered or being answered.
        package var requests = 0
        /// Connections accepted.
        package var connections = 0
        /// Requests being answered now.
        package var running = 0
        /// The most requests that were being answered at once.
        package var peak = 0
        /// Requests by target.
        package var requestsByTarget: [String: Int] = [:]
        /// Requests being answered now, and the most at once, by what the origin was told to group by.
        package var runningByGroup: [String: Int] = [:]
        package var peakByGroup: [String: Int] = [:]
    }

    /// The port that the system chose.
    package let port: Int
    private let handler: Handler
    private let groups: @Sendable (OriginRequest) -> [String]
    private let state = Monitor(Metrics())

    private init(port: Int, groups: @escaping @Sendable (OriginRequest) -> [String], handler: @escaping Handler) {
        self.port = port
        self.groups = groups
        self.handler = handler
    }

    /// The URL of a target such as `/songs/1.wav`.
    package func url(_ target: String) -> String {
        "http://127.0.0.1:\(port)\(target)"
    }

    /// What it has seen so far.
    package var metrics: Metrics { state.state }

    /// Waits until what it has seen is as `isReached` asks, and returns that.
    ///
    ///     _ = try await origin.metrics { $0.running == 0 }    // no request is being answered
    ///
    /// - Throws: `CancellationError`.
    package func metrics(where isReached: @escaping @Sendable (Metrics) -> Bool) async throws -> Metrics {
        try await state.waitUnlessCancelled(claiming: { isReached($0) ? $0 : nil })
    }

    /// Serves while `body` runs, then closes the port and every connection, whatever they are doing.
    ///
    /// - Parameter groups: What else to count requests by, such as the user that they are for and the host that they name.
    package static func serve<Result: Sendable>(
        groupedBy groups: @escaping @Sendable (OriginRequest) -> [String] = { _ in [] },
        _ handler: @escaping Handler, during body: @Sendable (LoopbackOrigin) async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        let origin = LoopbackOrigin(port: server.channel.localAddress?.port ?? 0, groups: groups, handler: handler)
        return try await server.executeThenClose { connections in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await origin.accept(connections) }
                defer { group.cancelAll() }
                return try await body(origin)
            }
        }
    }

    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    private func accept(_ connections: NIOAsyncChannelInboundStream<Connection>) async {
        await withDiscardingTaskGroup { group in
            // The stream ends when the port is closed; there is nobody to tell of an error but the client, who sees it.
            do {
                for try await connection in connections {
                    state.withState { $0.connections += 1 }
                    group.addTask { try? await self.serve(connection) }
                }
            } catch {}
            group.cancelAll()
        }
    }

    /// Answers one request after the other until the client or an answer ends the connection.
    private func serve(_ connection: Connection) async throws {
        try await connection.executeThenClose { inbound, outbound in
            for try await part in inbound {
                guard case .head(let head) = part else { continue }
                let request = began(head)
                let counted = Counted(origin: self, groups: groups(request))
                defer { counted.end() }
                let response = await handler(request)
                let goesOn = try await send(
                    response, to: head, over: outbound, of: connection.channel, counted: counted)
                guard goesOn, head.isKeepAlive else { return }
            }
        }
    }

    private func began(_ head: HTTPRequestHead) -> OriginRequest {
        let attempt = state.withState { state in
            state.requests += 1
            state.requestsByTarget[head.uri, default: 0] += 1
            return state.requestsByTarget[head.uri, default: 0]
        }
        var fields = HTTPFields()
        for (name, value) in head.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return OriginRequest(method: head.method.rawValue, target: head.uri, headerFields: fields, attempt: attempt)
    }

    /// A request while it is being answered.
    private final class Counted: Sendable {
        private let origin: LoopbackOrigin
        private let groups: [String]
        private let isOver = Lock(false)

        init(origin: LoopbackOrigin, groups: [String]) {
            self.origin = origin
            self.groups = groups
            origin.state.withState { state in
                state.running += 1
                state.peak = max(state.peak, state.running)
                for group in groups {
                    state.runningByGroup[group, default: 0] += 1
                    state.peakByGroup[group] = max(
                        state.peakByGroup[group, default: 0], state.runningByGroup[group, default: 0])
                }
            }
        }

        func end() {
            let isFirst = isOver.withLock { isOver in
                defer { isOver = true }
                return !isOver
            }
            guard isFirst else { return }
            origin.state.withState { state in
                state.running -= 1
                for group in groups { state.runningByGroup[group, default: 0] -= 1 }
            }
        }
    }

    /// Sends the response; false if the connection is of no further use.
    private func send(
        _ response: OriginResponse, to request: HTTPRequestHead,
        over outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>, of channel: any Channel, counted: Counted
    ) async throws -> Bool {
        if response.delay > .zero { try await Task.sleep(for: response.delay) }
        var headers = HTTPHeaders()
        for field in response.headerFields { headers.add(name: field.name.rawName, value: field.value) }
        if let length = response.announcedLength { headers.replaceOrAdd(name: "Content-Length", value: "\(length)") }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
        if response.steps.isEmpty || request.method == .HEAD { counted.end() }
        try await outbound.write(.head(head))
        guard request.method != .HEAD else {
            try await outbound.write(.end(nil))
            return true
        }
        for (index, step) in response.steps.enumerated() {
            switch step {
            case .send(let bytes) where index == response.steps.count - 1 && !bytes.isEmpty:
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: bytes.dropLast()))))
                counted.end()
                try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: bytes.suffix(1)))))
            case .send(let bytes): try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
            case .pause(let duration): try await Task.sleep(for: duration)
            case .perform(let action): await action()
            case .hangUp: return false
            case .stall: try await Task.sleep(for: .seconds(86_400))
            case .reset:
                // Closing with SO_LINGER at zero sends RST instead of FIN (socket(7)).
                try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
                return false
            }
        }
        try await outbound.write(.end(nil))
        return true
    }
}
