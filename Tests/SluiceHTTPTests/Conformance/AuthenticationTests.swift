import Foundation
import HTTPTypes
import LoopbackOrigin
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `Credentials for servers` {
    private static let challenge = #"Digest realm="files", qop="auth", algorithm=SHA-256, nonce="n1", opaque="o""#

    private static func credentials(_ origins: String...) throws -> ServerCredentials {
        try origins.reduce(into: ServerCredentials()) {
            $0.set(user: "ann", password: "s3cret: ü", for: try URL(fetchable: $1))
        }
    }

    private static func configuration(_ credentials: ServerCredentials) -> HTTPTransport.Configuration {
        .init(connectTimeout: .seconds(600), stallTimeout: .seconds(600), proxy: .none, credentials: credentials)
    }

    private static let basic = "Basic \(Data("ann:s3cret: ü".utf8).base64EncodedString())"

    /// Answers 401 unless the request has the right Basic credentials. The body is the number of the request.
    private static func askForBasic(_ request: OriginRequest) -> OriginResponse {
        request.headerFields[.authorization] == basic
            ? OriginResponse(body: Array("\(request.attempt)".utf8))
            : OriginResponse(status: 401, headerFields: [.wwwAuthenticate: #"Basic realm="x""#], body: Array("no".utf8))
    }

    /// Answers 401 unless the request has the right Digest credentials (RFC 7616, section 3.4.1).
    private static func askForDigest(_ request: OriginRequest) -> OriginResponse {
        let refusal = OriginResponse(
            status: 401, headerFields: [.wwwAuthenticate: challenge], body: Array("not the content".utf8))
        guard let field = request.headerFields[.authorization], field.hasPrefix("Digest ") else { return refusal }
        let parts = field.dropFirst(7).split(separator: ",").reduce(into: [String: String]()) { parts, part in
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            parts[pair[0]] = pair[1].trimmingCharacters(in: ["\""])
        }
        func digest(_ text: String) -> String { SHA256Digest.of(Array(text.utf8)).hexadecimal }
        let secret = digest("ann:files:s3cret: ü")
        let what = digest("\(request.method):\(request.target)")
        let expected = digest(
            "\(secret):n1:\(parts["nc"] ?? ""):\(parts["cnonce"] ?? ""):auth:\(what)")
        return parts["response"] == expected && parts["username"] == "ann"
            ? OriginResponse(headerFields: [.eTag: "\"x\""], body: Array("content".utf8)) : refusal
    }

    private static func read(_ response: TransportResponse) async throws -> String {
        String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
    }

    @Test(arguments: TestedTransport.having(.credentials))
    func `are sent after a server asks for Basic authentication`(
        tested: TestedTransport
    ) async throws {
        try await LoopbackOrigin.serve {
            Self.askForBasic($0)
        } during: { origin in
            let url = try URL(fetchable: origin.url("/a"))
            try await tested.withTransport(Self.configuration(Self.credentials(origin.url("/")))) { transport in
                let response = try await transport.open(TransportRequest(url))
                #expect(response.status == .ok)
                #expect(try await Self.read(response) == "2")
                // libcurl's engine remembers that the origin wants nothing better.
                let next = try await Self.read(transport.open(TransportRequest(url)))
                #expect(next == "3")
            }
        }
    }

    @Test(arguments: TestedTransport.having(.credentials))
    func `are sent by Digest authentication, and only the last head counts`(
        tested: TestedTransport
    ) async throws {
        try await LoopbackOrigin.serve {
            Self.askForDigest($0)
        } during: { origin in
            let url = try URL(fetchable: origin.url("/a?b=c"))
            try await tested.withTransport(Self.configuration(Self.credentials(origin.url("/")))) { transport in
                for _ in 0..<3 {
                    let response = try await transport.open(TransportRequest(url))
                    #expect(response.status == .ok && response.headerFields[.eTag] == "\"x\"")
                    #expect(response.headerFields[.wwwAuthenticate] == nil && response.contentLength == 7)
                    #expect(try await Self.read(response) == "content")
                }
                let head = try await transport.open(TransportRequest(url, method: .head))
                #expect(head.status == .ok && head.headerFields[.eTag] == "\"x\"")
                let sent = TransportRequest(url, method: .put, body: Data("sent twice".utf8))
                #expect(try await Self.read(transport.open(sent)) == "content")
            }
            #expect(origin.metrics.requests == 10)
        }
    }

    @Test(arguments: TestedTransport.having(.credentials), ["Basic realm=\"x\"", challenge, "Other x"])
    func `that are rejected give the 401 and its body`(tested: TestedTransport, challenge: String) async throws {
        try await LoopbackOrigin.serve { _ in
            OriginResponse(status: 401, headerFields: [.wwwAuthenticate: challenge], body: Array("no".utf8))
        } during: { origin in
            try await tested.withTransport(Self.configuration(Self.credentials(origin.url("/")))) { transport in
                let response = try await transport.open(TransportRequest(URL(fetchable: origin.url("/a"))))
                #expect(response.status == .unauthorized && response.headerFields[.wwwAuthenticate] == challenge)
                #expect(try await Self.read(response) == "no")
            }
        }
    }

    @Test(arguments: TestedTransport.having(.credentials))
    func `don't go to another origin, even after a redirect`(
        tested: TestedTransport
    ) async throws {
        try await LoopbackOrigin.serve { request in
            OriginResponse(
                status: 401, headerFields: [.wwwAuthenticate: "Basic realm=\"x\""],
                body: Array((request.headerFields[.authorization] ?? "none").utf8))
        } during: { other in
            try await LoopbackOrigin.serve { _ in
                .redirect(to: other.url("/x"))
            } during: { origin in
                try await tested.withTransport(Self.configuration(Self.credentials(origin.url("/")))) { transport in
                    let response = try await transport.open(TransportRequest(URL(fetchable: origin.url("/a"))))
                    #expect(response.status == .unauthorized && response.redirectCount == 1)
                    #expect(try await Self.read(response) == "none")
                }
            }
            #expect(other.metrics.requests == 1)
        }
    }

    @Test func `of one origin don't disturb the requests to another`() async throws {
        try await LoopbackOrigin.serve {
            Self.askForDigest($0)
        } during: { one in
            try await LoopbackOrigin.serve { request in
                OriginResponse(body: Array((request.headerFields[.authorization] ?? "none").utf8))
            } during: { open in
                let credentials = try Self.credentials(one.url("/"))
                try await HTTPTransport.withTransport(configuration: Self.configuration(credentials)) { transport in
                    for _ in 0..<2 {
                        let first = try await transport.open(TransportRequest(URL(fetchable: one.url("/a"))))
                        #expect(try await Self.read(first) == "content")
                        let second = try await transport.open(TransportRequest(URL(fetchable: open.url("/a"))))
                        #expect(try await Self.read(second) == "none")
                    }
                }
            }
        }
    }

    @Test func `give way to the request's own`() async throws {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array((request.headerFields[.authorization] ?? "none").utf8))
        } during: { origin in
            let credentials = try Self.credentials(origin.url("/"))
            try await HTTPTransport.withTransport(configuration: Self.configuration(credentials)) { transport in
                let url = try URL(fetchable: origin.url("/a"))
                let own = TransportRequest(url, headerFields: [.authorization: "Bearer x"])
                #expect(try await Self.read(transport.open(own)) == "Bearer x")
                let named = try URL(fetchable: "http://bob:b@127.0.0.1:\(origin.port)/a")
                #expect(try await Self.read(transport.open(TransportRequest(named))) == "Basic Ym9iOmI=")
            }
        }
    }

    @Test(arguments: [("a\r\nX: 1", "b"), ("a", "b\n"), ("\u{0}", ""), ("a", "\u{7F}")])
    func `with control characters are an error`(user: String, password: String) async throws {
        let url = URL(string: "http://127.0.0.1:1/")!
        var credentials = ServerCredentials()
        credentials.set(user: user, password: password, for: url)
        try await HTTPTransport.withTransport(configuration: Self.configuration(credentials)) { transport in
            let error = await #expect(throws: TransferError.self) { try await transport.open(TransportRequest(url)) }
            #expect(error?.code == .invalidCredentials)
        }
    }

    @Test func `are in no description and in no trace`() throws {
        let url = URL(string: "http://a.example/")!
        var credentials = ServerCredentials()
        credentials.set(user: "ann-Secret", password: "hush-Secret", for: url)
        let credential = try #require(credentials.credential(for: url))
        var request = TransportRequest(url, headerFields: [.init("X-Mine")!: "own-Secret", .userAgent: "me"])
        request.credential = credential
        for text in [
            "\(credentials)", String(reflecting: credentials), "\(credential)", String(reflecting: credential),
            "\(request)", String(reflecting: request),
        ] {
            #expect(!text.contains("Secret"), "\(text)")
        }
        let pair = Data("ann-Secret:hush-Secret".utf8).base64EncodedString()
        let shown = Redaction(of: request).redacted("own-Secret, ann-Secret, hush-secret, \(pair), me")
        #expect(shown == "…, …, …, …, me")
    }
}

@Suite struct `A netrc file` {
    private func credential(_ text: String, _ url: String) throws -> String? {
        try ServerCredentials(netrc: text).credential(for: URL(fetchable: url)).map { "\($0.user)/\($0.password)" }
    }

    @Test(
        arguments: [
            ("machine a.example login ann password x", "http://a.example/", "ann/x"),
            ("machine a.example login ann password x", "https://A.example.:8443/", "ann/x"),
            ("machine a.example login ann password x", "http://b.example/", nil),
            ("machine a.example login ann password x", "http://sub.a.example/", nil),
            ("machine a.example\r\n\tlogin ann\r\n\tpassword x\r\n", "http://a.example/", "ann/x"),
            ("# ann\nmachine a.example login ann # x\n password #x # y", "http://a.example/", "ann/#x"),
            (#"machine a.example login "two words" password "q\"\\\t""#, "http://a.example/", "two words/q\"\\\t"),
            ("machine b.example login b password y machine a.example login a password x", "http://a.example/", "a/x"),
            ("machine a.example login a password x\nmachine a.example login b password y", "http://a.example/", "a/x"),
            ("machine a.example password x", "http://a.example/", "/x"),
            ("machine a.example", "http://a.example/", nil),
            ("machine a.example account z login a password x", "http://a.example/", "a/x"),
            (
                "macdef init\nmachine a.example login m password m\n\nmachine a.example login a password x",
                "http://a.example/", "a/x"
            ),
            ("default login ann password x", "http://a.example/", nil),
            ("machine a.example login a password x default login ann password x", "http://b.example/", nil),
            ("machine login login machine password password", "http://login/", "machine/password"),
            ("", "http://a.example/", nil),
        ] as [(String, String, String?)])
    func `gives a host's login and password`(text: String, url: String, expected: String?) throws {
        #expect(try credential(text, url) == expected)
    }

    @Test(arguments: [
        ("machine", 1), ("machine\n\n", 1), ("machine a.example\nlogin\n", 2), ("\nhush-Secret", 2), ("login ann", 1),
        ("machine a \"hush", 1),
        ("machine a.example login ann password x hush-Secret", 1), ("machine a \"login\" b", 1),
    ])
    func `that isn't valid is an error that names the line, but no words`(text: String, line: Int) {
        let error = #expect(throws: ServerCredentials.InvalidNetrc.self) { try ServerCredentials(netrc: text) }
        #expect(error?.line == line)
        #expect(error?.description.contains("hush") == false)
    }
}
