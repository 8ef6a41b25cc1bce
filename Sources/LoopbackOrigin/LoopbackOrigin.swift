import SluiceConcurrency
import SluiceLock

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
        /// Connections that are open.
        package var openConnections = 0
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
        let (socket, port) = try OriginSocket.listening()
        let origin = LoopbackOrigin(port: port, groups: groups, handler: handler)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: OriginThreads.shared) { await origin.accept(from: socket) }
            defer { group.cancelAll() }
            return try await body(origin)
        }
    }

    private func accept(from socket: OriginSocket) async {
        await withDiscardingTaskGroup { group in
            // Accepting ends when the task is cancelled. The client sees any other error.
            while let connection = try? await socket.accepted(onClose: {
                self.state.withState { $0.openConnections -= 1 }
            }) {
                state.withState { ($0.connections, $0.openConnections) = ($0.connections + 1, $0.openConnections + 1) }
                group.addTask { try? await self.serve(connection) }
            }
            group.cancelAll()
        }
    }

    /// Answers one request after the other until the client or an answer ends the connection.
    private func serve(_ socket: OriginSocket) async throws {
        let connection = OriginConnection(socket)
        while let incoming = try await connection.nextRequest() {
            let request = began(incoming)
            let counted = Counted(origin: self, groups: groups(request))
            defer { counted.end() }
            let response = await handler(request)
            guard try await connection.send(response, to: incoming, isOver: { counted.end() }) else { return }
        }
    }

    private func began(_ incoming: OriginConnection.Incoming) -> OriginRequest {
        let attempt = state.withState { state in
            state.requests += 1
            state.requestsByTarget[incoming.target, default: 0] += 1
            return state.requestsByTarget[incoming.target, default: 0]
        }
        return OriginRequest(
            method: incoming.method, target: incoming.target, headerFields: incoming.headerFields, body: incoming.body,
            attempt: attempt)
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
}
