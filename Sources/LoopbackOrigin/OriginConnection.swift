#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import SluiceServer

/// A connection of the origin. The origin reads requests as a server must, and misbehaves only in its responses.
final class OriginConnection {
    private static let limits = RequestParser.Limits(
        targetSize: 1 << 20, headSize: 1 << 20, fieldCount: 5000, bodySize: 64 << 20)

    /// Longer than a slow machine takes for a test.
    private static let timeouts: ServerConnection.Timeouts = {
        var timeouts = ServerConnection.Timeouts()
        (timeouts.idle, timeouts.request) = (.seconds(3600), .seconds(3600))
        return timeouts
    }()

    private let socket: ServerSocket
    private let connection: ServerConnection

    init(_ socket: ServerSocket) {
        self.socket = socket
        connection = ServerConnection(socket, limits: Self.limits, timeouts: Self.timeouts)
    }

    // MARK: Requests

    /// Returns the next request, or `nil` if the client closes the connection or sends an invalid request.
    func nextRequest() async throws -> RequestParser.Request? {
        do {
            return try await connection.nextRequest()
        } catch is RequestParser.Refusal {
            // Among others, a TLS handshake from a client with an https URL gets what web servers answer on an http port.
            try await write(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
            return nil
        }
    }

    // MARK: Responses

    /// Sends the response. Returns false if the connection must be closed. `isOver` is called before the last byte is sent: once the client
    /// has that byte, its next request may arrive.
    func send(_ response: OriginResponse, to request: RequestParser.Request, isOver: () -> Void) async throws -> Bool {
        if response.delay > .zero { try await Task.sleep(for: response.delay) }
        if let bytes = response.verbatim {
            isOver()
            try await write(bytes)
            if response.staysOpen { while try await !socket.read().isEmpty {} }
            return false
        }
        let hasBody = request.method != .head && ![204, 304].contains(response.status)
        var fields = response.headerFields
        if let length = response.announcedLength, fields[.transferEncoding] == nil {
            fields[.contentLength] = "\(length)"
        }
        if fields[.contentLength] == nil, fields[.transferEncoding] == nil, hasBody {
            fields[.transferEncoding] = "chunked"
        }
        let isChunked = fields[.transferEncoding]?.lowercased().hasSuffix("chunked") == true
        func framed(_ bytes: [UInt8]) -> [UInt8] {
            guard isChunked, !bytes.isEmpty else { return bytes }
            return Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10]
        }

        // The head is written together with the first bytes of the body. The status may be invalid, such as 000.
        let code = String(repeating: "0", count: max(0, 3 - "\(response.status)".count)) + "\(response.status)"
        let reason =
            (100...999).contains(response.status) ? HTTPResponse.Status(code: response.status).reasonPhrase : ""
        let lines = ["HTTP/1.1 \(code) \(reason)"] + fields.map { "\($0.name.rawName): \($0.value)" } + ["", ""]
        var pending = Array(lines.joined(separator: "\r\n").utf8)
        var steps = hasBody ? response.steps[...] : []
        var last: [UInt8] = []
        if case .send(let bytes) = steps.last {
            steps.removeLast()
            last = bytes
        }
        for step in steps {
            if case .send(let bytes) = step { pending += framed(bytes) }
            try await write(pending)
            pending = []
            switch step {
            case .send: break
            case .pause(let duration): try await Task.sleep(for: duration)
            case .perform(let action): await action()
            case .hangUp: return false
            case .stall: try await Task.sleep(for: .seconds(86_400))
            case .reset:
                socket.resetWhenClosed()
                return false
            }
        }
        pending += framed(last.dropLast())
        let trailers = response.trailers.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
        let ending = framed(last.suffix(1)) + (hasBody && isChunked ? Array("0\r\n\(trailers)\r\n".utf8) : [])
        if !ending.isEmpty {
            try await write(pending)
            pending = ending
        }
        isOver()
        try await write(pending)
        return request.staysOpen
    }

    private func write(_ bytes: [UInt8]) async throws { try await socket.write(Data(bytes)) }
}
