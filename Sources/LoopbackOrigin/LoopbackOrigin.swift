import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceLock
import SluiceServer

/// An HTTP server on 127.0.0.1 whose responses a closure provides.
///
///     try await LoopbackOrigin.serve { request in OriginResponse(body: Array(request.target.utf8)) } during: { origin in
///         try await fetch(origin.url("/hello"))
///     }
///
/// `sluice demo` and the tests download from it. The server counts requests itself, because a client's own count proves less. A request
/// counts as running until just before the last byte of its body is sent: once the client has that byte, its next request may arrive before
/// the server does anything else.
package final class LoopbackOrigin: Sendable {
    package typealias Handler = @Sendable (OriginRequest) async -> OriginResponse

    package struct Metrics: Sendable {
        /// Requests, both running and answered.
        package var requests = 0
        package var connections = 0
        package var openConnections = 0
        package var running = 0
        package var peak = 0
        package var requestsByTarget: [String: Int] = [:]
        package var runningByGroup: [String: Int] = [:]
        package var peakByGroup: [String: Int] = [:]
    }

    /// An engine for the origin only, because tests check the statistics of `FileIO.shared`.
    private static let files = FileIO(configuration: .init(concurrency: 2))

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

    package func url(_ target: String) -> String {
        "http://127.0.0.1:\(port)\(target)"
    }

    package var metrics: Metrics { state.state }

    /// Waits until the counts satisfy `isReached` or the task is cancelled, and returns them.
    package func metrics(where isReached: @escaping @Sendable (Metrics) -> Bool) async throws -> Metrics {
        try await state.waitUnlessCancelled(claiming: { isReached($0) ? $0 : nil })
    }

    /// Serves while `body` runs, then cancels the running handlers and closes the port and all connections. `groups` returns the groups in
    /// which to count a request, such as its user and its host.
    package static func serve<Result: Sendable>(
        groupedBy groups: @escaping @Sendable (OriginRequest) -> [String] = { _ in [] },
        _ handler: @escaping Handler, during body: @Sendable (LoopbackOrigin) async throws -> Result
    ) async throws -> Result {
        let (socket, address) = try await ServerSocket.listening(on: .ip("127.0.0.1", port: 0), using: files)
        guard case .ip(_, let port) = address else { preconditionFailure("The origin has no port.") }
        let origin = LoopbackOrigin(port: port, groups: groups, handler: handler)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: OriginThreads.shared) { await origin.accept(from: socket) }
            defer { group.cancelAll() }
            return try await body(origin)
        }
    }

    private func accept(from socket: ServerSocket) async {
        await withDiscardingTaskGroup { group in
            // Accepting ends when the task is cancelled, and after any other error, which the client notices.
            while let connection = try? await socket.accepted(onClose: {
                self.state.withState { $0.openConnections -= 1 }
            }) {
                state.withState { ($0.connections, $0.openConnections) = ($0.connections + 1, $0.openConnections + 1) }
                group.addTask { try? await self.serve(connection) }
            }
            group.cancelAll()
        }
    }

    private func serve(_ socket: ServerSocket) async throws {
        let connection = OriginConnection(socket)
        while let incoming = try await connection.nextRequest() {
            let request = began(incoming)
            let counted = Counted(origin: self, groups: groups(request))
            defer { counted.end() }
            let response = await handler(request)
            guard try await connection.send(response, to: incoming, isOver: { counted.end() }) else { return }
        }
    }

    private func began(_ incoming: RequestParser.Request) -> OriginRequest {
        let attempt = state.withState { state in
            state.requests += 1
            state.requestsByTarget[incoming.target, default: 0] += 1
            return state.requestsByTarget[incoming.target, default: 0]
        }
        return OriginRequest(
            method: incoming.method.rawValue, target: incoming.target, headerFields: incoming.headerFields,
            body: Array(incoming.body), attempt: attempt)
    }

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

// MARK: - Threads

/// An executor with the threads on which all origins and their handlers run. On the cooperative pool, each step of a response would wait
/// for the tests' own work, and clients would time out. A real server is another process with its own threads.
final class OriginThreads: TaskExecutor {
    static let shared = OriginThreads(count: 2)

    private let jobs = ConditionLock<[UnownedJob]>([])

    private init(count: Int) {
        for _ in 0..<count {
            let result = DetachedThread.start(stackSize: 1 << 20) { [self] in
                while true { next().runSynchronously(on: asUnownedTaskExecutor()) }
            }
            precondition(
                result == 0, "The origin needs \(count) threads: \(DetachedThread.missing(for: "origin", -result))")
        }
    }

    private func next() -> UnownedJob {
        jobs.wait { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        jobs.wakeOne()
    }
}
