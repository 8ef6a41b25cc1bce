#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
package import HTTPTypes
import SluiceConcurrency
import SluiceHTTP

/// One connection of a server: reads requests, and writes responses.
package final class ServerConnection {
    /// How long the client may take.
    package struct Timeouts: Sendable {
        /// Between two requests.
        package var idle = Duration.seconds(60)
        /// From the first byte of a request to its last.
        package var request = Duration.seconds(20)
        /// To take some bytes of a response.
        package var writing = Duration.seconds(20)

        package init() {}
    }

    private let socket: ServerSocket
    private let timeouts: Timeouts
    private var parser: RequestParser

    package init(_ socket: ServerSocket, limits: RequestParser.Limits, timeouts: Timeouts) {
        self.socket = socket
        self.timeouts = timeouts
        parser = RequestParser(limits: limits)
    }

    // MARK: Requests

    /// Returns the next request, or `nil` if the client has closed the connection or takes too long to begin a request.
    ///
    /// - Throws: `RequestParser.Refusal`; the error of the connection.
    package func nextRequest() async throws -> RequestParser.Request? {
        var deadline: ContinuousClock.Instant?
        while true {
            switch try parser.next() {
            case .request(let request): return request
            case .awaitsContinue:
                try await write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            case .needsBytes:
                let limit: ContinuousClock.Instant
                if parser.isBetweenRequests {
                    limit = .now + timeouts.idle
                } else {
                    limit = deadline ?? .now + timeouts.request
                    deadline = limit
                }
                let bytes: Data
                do {
                    bytes = try await withDeadline(until: limit, clock: .continuous) { try await socket.read() }
                } catch is DeadlineExceeded {
                    if deadline == nil { return nil }
                    throw RequestParser.Refusal(.requestTimeout, "The request took too long to arrive.")
                }
                if bytes.isEmpty { return nil }
                parser.append(bytes)
            }
        }
    }

    // MARK: Responses

    /// Sends the head and a whole body. Nothing of the body is sent in response to `HEAD`.
    package func send(_ head: HTTPResponse, _ body: Data, to request: RequestParser.Request?) async throws {
        var head = head
        let mayHaveBody = ![.noContent, .notModified].contains(head.status)
        if mayHaveBody { head.headerFields[.contentLength] = "\(body.count)" }
        var bytes = Self.bytes(of: head, closes: request?.staysOpen != true)
        if mayHaveBody, request?.method != .head { bytes += body }
        try await write(bytes)
    }

    /// Sends the head, and then what `produce` sends, until it returns or the client closes the connection. The connection can't be used for
    /// another response.
    package func stream(
        _ head: HTTPResponse, to request: RequestParser.Request, _ produce: @escaping HTTPServer.Producer
    ) async throws {
        var head = head
        let isChunked = !request.isVersion10
        if isChunked { head.headerFields[.transferEncoding] = "chunked" }
        try await write(Self.bytes(of: head, closes: true))
        guard request.method != .head else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            let socket = socket
            group.addTask {
                // A client that closes the connection may never take another byte. What it sends is dropped.
                while try await !socket.read().isEmpty {}
            }
            group.addTask { [timeouts] in
                try await produce { bytes in
                    let framed = isChunked ? Self.chunk(bytes) : bytes
                    try await withDeadline(timeout: timeouts.writing) { try await socket.write(framed) }
                }
                if isChunked {
                    try await withDeadline(timeout: timeouts.writing) { try await socket.write(Data("0\r\n\r\n".utf8)) }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Ends the connection so that the client gets the whole last response: closing a socket with unread bytes would discard it.
    package func end() async {
        socket.finishWriting()
        try? await withDeadline(timeout: .seconds(1)) {
            var left = 1 << 20
            while left > 0, case let bytes = try await socket.read(), !bytes.isEmpty { left -= bytes.count }
        }
    }

    private func write(_ bytes: Data) async throws {
        // The deadline is for a piece, because a large response takes longer over a slow connection.
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Data(rest.prefix(256 << 10))
            rest = rest.dropFirst(piece.count)
            try await withDeadline(timeout: timeouts.writing) { try await socket.write(piece) }
        }
    }

    private static func chunk(_ bytes: Data) -> Data {
        if bytes.isEmpty { return Data() }
        return Data("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Data("\r\n".utf8)
    }

    private static func bytes(of head: HTTPResponse, closes: Bool) -> Data {
        var lines = "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n"
        for field in head.headerFields { lines += "\(field.name.rawName): \(field.value)\r\n" }
        if head.headerFields[.date] == nil {
            // RFC 9110, section 6.6.1.
            lines += "Date: \(HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970)))\r\n"
        }
        if closes { lines += "Connection: close\r\n" }
        lines += "\r\n"
        return Data(lines.utf8)
    }
}
