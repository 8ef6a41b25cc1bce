import Foundation
import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceServer
import TestSupport
import Testing

/// Real connections to a server, with clients that behave badly.
@Suite struct HTTPServerTests {
    private static let any = ServerAddress.ip("127.0.0.1", port: 0)

    /// Answers with the method, the target and the body.
    private static let echo: HTTPServer.Handler = { request, body in
        let text = "\(request.method.rawValue) \(request.path ?? "") \(String(decoding: body, as: UTF8.self))"
        return (HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"]), .data(Data(text.utf8)))
    }

    @Test func `requests on one connection are answered in order`() async throws {
        try await HTTPServer.serve(on: Self.any, Self.echo) { server in
            let client = try RawClient(server.address)
            try await client.send(
                """
                GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\n\r\n\
                POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi
                """)
            let text = try await client.rest()
            #expect(text.contains(" GMT\r\n"))
            #expect(
                text.replacing(/Date: [^\r]*\r\n/, with: "") == """
                    HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nGET /a \
                    HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\n\
                    HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\nConnection: close\r\n\r\nPOST /c hi
                    """)
        }
    }

    @Test func `a refused request gets its reason, and the connection is closed`() async throws {
        try await HTTPServer.serve(on: Self.any, Self.echo) { server in
            let client = try RawClient(server.address)
            // What follows the refused request is dropped, and doesn't keep the response from arriving.
            try await client.send("GET / HTTP/1.1\r\n\r\n" + String(repeating: "x", count: 100_000))
            let response = try await client.rest()
            #expect(response.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(response.hasSuffix("A request must have one Host field.\n"))
        }
    }

    @Test func `a client that sends its request too slowly gets 408, and one that sends nothing is dropped`()
        async throws
    {
        var limits = HTTPServer.Limits()
        limits.timeouts.request = .milliseconds(50)
        limits.timeouts.idle = .milliseconds(50)
        try await HTTPServer.serve(on: Self.any, limits: limits, Self.echo) { server in
            let (slow, silent) = (try RawClient(server.address), try RawClient(server.address))
            try await slow.send("GET / HTTP/1.1\r\nHost")
            #expect(try await slow.rest().hasPrefix("HTTP/1.1 408 "))
            #expect(try await silent.rest() == "")
        }
    }

    @Test func `a connection too many gets 503, and another one succeeds after one has ended`() async throws {
        var limits = HTTPServer.Limits()
        limits.connectionCount = 1
        try await HTTPServer.serve(on: Self.any, limits: limits, Self.echo) { server in
            var first: RawClient? = try RawClient(server.address)
            try await first?.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await first?.text(endingWith: "GET /1 ").hasPrefix("HTTP/1.1 200 ") == true)
            // It gets its answer without a request.
            var second: RawClient? = try RawClient(server.address)
            let refused = try await second?.rest() ?? ""
            #expect(refused.hasPrefix("HTTP/1.1 503 "))
            #expect(refused.contains("Retry-After: 5\r\n"))
            try await first?.send("GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await first?.rest().hasSuffix("GET /3 ") == true)
            (first, second) = (nil, nil)
            try await server.openCount.waitUnlessCancelled { $0 == 0 }
            let third = try RawClient(server.address)
            try await third.send("GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await third.rest().hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `a stream is sent as it is produced, and stops when its client leaves`() async throws {
        let (started, stopped) = (Gate(), Gate())
        let stream: HTTPServer.Handler = { _, _ in
            (
                HTTPResponse(status: .ok),
                .stream { send in
                    try await send(Data("first\n".utf8))
                    await started.pass()
                    try await send(Data("second\n".utf8))
                    // Until the task is cancelled.
                    for await _ in AsyncStream<Never>.makeStream().stream {}
                    await stopped.open()
                }
            )
        }
        try await HTTPServer.serve(on: Self.any, stream) { server in
            var client: RawClient? = try RawClient(server.address)
            try await client?.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try await client?.text(endingWith: "first\n\r\n")
            #expect(head?.contains("Transfer-Encoding: chunked\r\n") == true)
            #expect(head?.contains("Connection: close\r\n") == true)
            await started.open()
            #expect(try await client?.text(endingWith: "second\n\r\n") == "7\r\nsecond\n\r\n")
            client = nil
            await stopped.pass()
        }
    }

    @Test func `a Unix socket is for its owner and group, is replaced after a kill, and is removed at the end`()
        async throws
    {
        let directory = URL.temporaryDirectory.appending(path: "sluice-server-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "s", directoryHint: .notDirectory)
        // The file that a killed server leaves.
        do { _ = try await ServerSocket.listening(on: .unixSocket(file), using: .shared) }
        #expect(FileManager.default.fileExists(atPath: file.path))
        try await HTTPServer.serve(on: .unixSocket(file), Self.echo) { server in
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o660)
            let client = try RawClient(server.address)
            try await client.send("GET /u HTTP/1.0\r\n\r\n")
            #expect(try await client.rest().hasSuffix("GET /u "))
            // A running server keeps its socket.
            await #expect(throws: FileError.self) {
                try await HTTPServer.serve(on: .unixSocket(file), Self.echo) { _ in }
            }
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        // After a signal, the body's task is cancelled.
        let begun = Gate()
        let cancelled = Task {
            try await HTTPServer.serve(on: .unixSocket(file), Self.echo) { _ in
                await begun.pass()
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
        }
        await begun.arrivals(1)
        await begun.open()
        cancelled.cancel()
        try await cancelled.value
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a file that isn't a socket is never replaced`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "letter.txt", directoryHint: .notDirectory)
            try Data("dear".utf8).write(to: file)
            await #expect(throws: FileError.self) {
                try await HTTPServer.serve(on: .unixSocket(file), Self.echo) { _ in }
            }
            #expect(try Data(contentsOf: file) == Data("dear".utf8))
        }
    }

    @Test func `an address that is taken is an error that names it`() async throws {
        try await HTTPServer.serve(on: Self.any, Self.echo) { server in
            let address = server.address
            await #expect { try await HTTPServer.serve(on: address, Self.echo) { _ in } } throws: {
                "\($0)".contains(address.description)
            }
        }
    }

    @Test func `ten thousand connections, one after the other, leave nothing behind`() async throws {
        try await HTTPServer.serve(on: Self.any, Self.echo) { server in
            for number in 0..<10_000 {
                let client = try RawClient(server.address)
                // Every tenth client sends its request, and every third of the others leaves in the middle of one.
                if number % 10 == 0 {
                    try await client.send("GET /\(number) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    #expect(try await client.rest().hasSuffix("GET /\(number) "))
                } else if number % 3 == 0 {
                    try await client.send("GET / HT")
                }
            }
        }
    }
}
