#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
package import HTTPTypes
package import SluiceFiles
import SluiceLock

/// An HTTP/1.1 server for pages that a program shows about itself.
///
///     try await HTTPServer.serve(on: .ip("127.0.0.1", port: 8080)) { request, _ in
///         (HTTPResponse(status: .ok), .data(Data("You asked for \(request.path ?? "").".utf8)))
///     } during: { server in
///         print("http://\(server.address)")
///         try await Task.sleep(for: .seconds(3600))
///     }
///
/// It is for a few hundred clients that may be hostile, not for the speed of a web server: it refuses what isn't clearly one request
/// (``RequestParser``), limits sizes, connections and times, and closes the connection after each refusal. TLS is for a proxy in front of it.
package struct HTTPServer: Sendable {
    /// Answers a request with its body. It mustn't throw: what went wrong belongs into the response.
    package typealias Handler = @Sendable (HTTPRequest, Data) async -> (HTTPResponse, ResponseBody)

    package struct Limits: Sendable {
        package var request = RequestParser.Limits()
        package var timeouts = ServerConnection.Timeouts()
        /// The maximum number of open connections. Another one gets the status 503.
        package var connectionCount = 256

        package init() {}
    }

    /// The address, with the port that the system chose.
    package let address: ServerAddress

    /// Serves while `body` runs. Then closes the port, cancels the running handlers, and closes all connections.
    ///
    /// - Throws: `FileError` if the server can't listen; the error of `body`.
    package static func serve<Result: Sendable>(
        on address: ServerAddress, limits: Limits = Limits(), using files: FileIO = .shared,
        _ handler: @escaping Handler, during body: @Sendable (HTTPServer) async throws -> Result
    ) async throws -> Result {
        let (socket, address) = try await ServerSocket.listening(on: address, using: files)
        let result = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await accept(from: socket, limits, handler) }
            defer { group.cancelAll() }
            return try await body(HTTPServer(address: address))
        }
        if case .unixSocket(let url) = address { try? await files.remove(url) }
        return result
    }

    private static func accept(from socket: ServerSocket, _ limits: Limits, _ handler: @escaping Handler) async {
        let open = Lock(0)
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    let connection = try await socket.accepted { open.withLock { $0 -= 1 } }
                    let count = open.withLock { open in
                        open += 1
                        return open
                    }
                    group.addTask {
                        let isBusy = count > limits.connectionCount
                        try? await serve(connection, limits, isBusy ? { _, _ in Self.busy } : handler, isLast: isBusy)
                    }
                } catch {
                    // For example, the system lacks memory. No event tells when that has changed.
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
            group.cancelAll()
        }
    }

    private static let busy: (HTTPResponse, ResponseBody) = (
        HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "5", .contentType: "text/plain"]),
        .data(Data("The server has too many connections. Try again in a few seconds.\n".utf8))
    )

    private static func serve(
        _ socket: ServerSocket, _ limits: Limits, _ handler: Handler, isLast: Bool
    ) async throws {
        let connection = ServerConnection(socket, limits: limits.request, timeouts: limits.timeouts)
        do {
            while var incoming = try await connection.nextRequest() {
                if isLast { incoming.staysOpen = false }
                let request = HTTPRequest(
                    method: incoming.method, scheme: "http", authority: incoming.headerFields[.host],
                    path: incoming.target, headerFields: incoming.headerFields)
                let (head, body) = await handler(request, incoming.body)
                switch body {
                case .data(let data):
                    try await connection.send(head, data, to: incoming)
                    if !incoming.staysOpen { return await connection.end() }
                case .stream(let produce):
                    try await connection.stream(head, to: incoming, produce)
                    return await connection.end()
                }
            }
        } catch let refusal as RequestParser.Refusal {
            let head = HTTPResponse(status: refusal.status, headerFields: [.contentType: "text/plain; charset=utf-8"])
            try await connection.send(head, Data("\(refusal.reason)\n".utf8), to: nil)
            await connection.end()
        }
    }
}
