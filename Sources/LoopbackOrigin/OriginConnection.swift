#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

final class OriginConnection {
    struct Incoming {
        var method: String
        var target: String
        var headerFields: HTTPFields
        var body: [UInt8]
        /// Whether the client wants another response on this connection.
        var staysOpen: Bool
    }

    private static let longestBody = 64 << 20

    private let socket: OriginSocket
    private var rest: [UInt8] = []

    init(_ socket: OriginSocket) { self.socket = socket }

    // MARK: Requests

    /// Returns the next request, or `nil` if the client closes the connection or sends an invalid request.
    func nextRequest() async throws -> Incoming? {
        var searched = 0
        while true {
            if let end = endOfHead(from: searched) {
                let head = rest[..<end]
                rest.removeFirst(end + 4)
                return try await request(head)
            }
            // A method begins with a letter. Anything else is a TLS handshake from a client with an https URL, which gets what web servers
            // answer on an http port.
            if let first = rest.first, !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) {
                try await socket.write(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
                return nil
            }
            guard rest.count < 1 << 20 else { return nil }
            searched = max(0, rest.count - 3)
            let bytes = try await socket.read()
            if bytes.isEmpty { return nil }
            rest += bytes
        }
    }

    private func endOfHead(from start: Int) -> Int? {
        guard rest.count >= 4 else { return nil }
        return (start...(rest.count - 4)).first { rest[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
    }

    private func request(_ head: ArraySlice<UInt8>) async throws -> Incoming? {
        var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")[...]
        let words = lines.popFirst()?.split(separator: " ") ?? []
        // `HTTPFields` traps at 65,535 fields.
        guard words.count == 3, lines.count <= 5000 else { return nil }
        var fields = HTTPFields()
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                continue
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        let length = fields[.contentLength].flatMap(Int.init) ?? 0
        guard (0...Self.longestBody).contains(length) else { return nil }
        while rest.count < length {
            let bytes = try await socket.read()
            if bytes.isEmpty { return nil }
            rest += bytes
        }
        defer { rest.removeFirst(length) }
        let isClosing = fields[.connection]?.lowercased() == "close" || words[2] == "HTTP/1.0"
        return Incoming(
            method: String(words[0]), target: String(words[1]), headerFields: fields, body: Array(rest.prefix(length)),
            staysOpen: !isClosing)
    }

    // MARK: Responses

    /// Sends the response. Returns false if the connection must be closed. `isOver` is called before the last byte is sent: once the client
    /// has that byte, its next request may arrive.
    func send(_ response: OriginResponse, to request: Incoming, isOver: () -> Void) async throws -> Bool {
        if response.delay > .zero { try await Task.sleep(for: response.delay) }
        if let bytes = response.verbatim {
            isOver()
            try await socket.write(bytes)
            if response.staysOpen { while try await !socket.read().isEmpty {} }
            return false
        }
        let hasBody = request.method != "HEAD" && ![204, 304].contains(response.status)
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
            try await socket.write(pending)
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
            try await socket.write(pending)
            pending = ending
        }
        isOver()
        try await socket.write(pending)
        return request.staysOpen
    }
}
