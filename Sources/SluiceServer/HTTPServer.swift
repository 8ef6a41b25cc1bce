#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
package import HTTPTypes
package import SluiceConcurrency
package import SluiceFiles

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
    /// Answers a request with its body. It doesn't throw: if something goes wrong, the response says so.
    package typealias Handler = @Sendable (HTTPRequest, Data) async -> (HTTPResponse, Body)

    /// Sends bytes, and is called with a function that waits until the client has room for them.
    package typealias Producer =
        @Sendable (_ send: @escaping @Sendable (Data) async throws -> Void) async throws -> Void

    /// The body of a response.
    package enum Body: Sendable {
        case data(Data)
        /// Bytes that are sent as they are produced.
        case stream(Producer)
    }

    package struct Limits: Sendable {
        package var request = RequestParser.Limits()
        package var timeouts = ServerConnection.Timeouts()
        /// The maximum number of open connections. Another one gets the status 503.
        package var connectionCount = 256

        package init() {}
    }

    /// The address, with the port that the system chose.
    package let address: ServerAddress
    /// The number of open connections.
    package let openCount: Monitor<Int>

    /// Serves while `body` runs. Then closes the port, cancels the running handlers, and closes all connections.
    ///
    /// - Throws: `FileError` if the server can't listen; the error of `body`.
    package static func serve<Value: Sendable>(
        on address: ServerAddress, limits: Limits = Limits(), using files: FileIO = .shared,
        _ handler: @escaping Handler, during body: @Sendable (HTTPServer) async throws -> Value
    ) async throws -> Value {
        let (socket, address) = try await ServerSocket.listening(on: address, using: files)
        let server = HTTPServer(address: address, openCount: Monitor(0))
        let result = await Result {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.accept(from: socket, limits, handler) }
                defer { group.cancelAll() }
                return try await body(server)
            }
        }
        if case .unixSocket(let url) = address { try? await FileIO.uninterrupted { try await files.remove(url) } }
        return try result.get()
    }

    private func accept(from socket: ServerSocket, _ limits: Limits, _ handler: @escaping Handler) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    let accepted = try await socket.accepted { openCount.withState { $0 -= 1 } }
                    let count = openCount.withState { count in
                        count += 1
                        return count
                    }
                    group.addTask {
                        let connection = ServerConnection(accepted, limits: limits.request, timeouts: limits.timeouts)
                        if count > limits.connectionCount {
                            try? await Self.refuse(Self.busy, on: connection)
                        } else {
                            try? await Self.serve(connection, handler)
                        }
                    }
                } catch {
                    // For example, the system lacks memory. No event tells when that has changed.
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
            group.cancelAll()
        }
    }

    /// It is sent before a request arrives: clients that send none would hold connections beyond the limit.
    private static let busy = RequestParser.Refusal(
        .serviceUnavailable, "The server has too many connections. Try again in a few seconds.")

    private static func serve(_ connection: ServerConnection, _ handler: Handler) async throws {
        do {
            while let incoming = try await connection.nextRequest() {
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
            try await refuse(refusal, on: connection)
        }
    }

    private static func refuse(_ refusal: RequestParser.Refusal, on connection: ServerConnection) async throws {
        var head = HTTPResponse(status: refusal.status, headerFields: [.contentType: "text/plain; charset=utf-8"])
        if refusal.status == .serviceUnavailable { head.headerFields[.retryAfter] = "5" }
        try await connection.send(head, Data("\(refusal.reason)\n".utf8), to: nil)
        await connection.end()
    }
}
