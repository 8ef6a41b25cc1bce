import Foundation
import HTTPTypes
import LoopbackOrigin
import Testing
import URLSessionOnLinux

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct Cookies {
    /// Sets the cookies that the query names, separated by `&`, and answers with the Cookie fields that arrived.
    @Sendable private static func answer(_ request: OriginRequest) -> OriginResponse {
        var fields = HTTPFields()
        for text in request.target.split(separator: "?").dropFirst().first?.split(separator: "&") ?? [] {
            fields.append(HTTPField(name: .setCookie, value: String(text).replacing("+", with: " ")))
        }
        let found = request.headerFields[values: .cookie].joined(separator: " | ")
        return OriginResponse(headerFields: fields, body: Array(found.utf8))
    }

    private static func configuration(_ jar: CookieJar?) -> HTTPTransport.Configuration {
        .init(connectTimeout: .seconds(600), stallTimeout: .seconds(600), proxy: .none, cookies: jar)
    }

    private static func read(_ response: TransportResponse) async throws -> Set<Substring> {
        let text = String(decoding: try await response.body.collect(upTo: 10_000), as: UTF8.self)
        return Set(text.replacing("; ", with: ";").split(separator: ";"))
    }

    @Test func `are stored, and sent in one field with the request's own`() async throws {
        try await LoopbackOrigin.serve {
            Self.answer($0)
        } during: { origin in
            let jar = CookieJar()
            try await HTTPTransport.withTransport(configuration: Self.configuration(jar)) { transport in
                func check(_ target: String, _ expected: Set<Substring>, own: HTTPFields = [:]) async throws {
                    let url = try URL(fetchable: origin.url(target))
                    let found = try await Self.read(transport.open(TransportRequest(url, headerFields: own)))
                    #expect(found == expected)
                }
                try await check("/?a=1&b=2;+Path=/sub&c=3;+Max-Age=1000", [])
                try await check("/x", ["a=1", "c=3"])
                try await check("/sub/x", ["a=1", "b=2", "c=3", "own=4"], own: [.cookie: "own=4"])
                // The own one isn't stored.
                try await check("/?a=1;+Max-Age=0", ["a=1", "c=3"])
                try await check("/x", ["c=3"])
            }
            #expect(jar.count == 2)
        }
    }

    @Test func `without a jar aren't stored`() async throws {
        try await LoopbackOrigin.serve {
            Self.answer($0)
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: Self.configuration(nil)) { transport in
                for _ in 0..<2 {
                    let response = try await transport.open(TransportRequest(URL(fetchable: origin.url("/?a=1"))))
                    #expect(try await Self.read(response).isEmpty)
                }
            }
        }
    }

    @Test func `of one jar never go to the requests of another, even over the same connection`() async throws {
        try await LoopbackOrigin.serve {
            Self.answer($0)
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: Self.configuration(nil)) { transport in
                let jars = [CookieJar(), CookieJar(), nil]
                for round in 0..<3 {
                    for (index, jar) in jars.enumerated() {
                        var request = TransportRequest(try URL(fetchable: origin.url("/?user=\(index)")))
                        request.cookies = jar
                        let found = try await Self.read(transport.open(request))
                        #expect(found == (round == 0 || jar == nil ? [] : ["user=\(index)"]))
                    }
                }
            }
        }
    }

    @Test func `of concurrent requests end up in their jars`() async throws {
        try await LoopbackOrigin.serve {
            Self.answer($0)
        } during: { origin in
            let jars = (0..<4).map { _ in CookieJar() }
            try await HTTPTransport.withTransport(configuration: Self.configuration(nil)) { transport in
                try await withThrowingTaskGroup { group in
                    for number in 0..<80 {
                        group.addTask {
                            let url = try URL(fetchable: origin.url("/?n\(number)=\(number % 4)"))
                            var request = TransportRequest(url)
                            request.cookies = jars[number % 4]
                            for pair in try await Self.read(transport.open(request)) {
                                #expect(pair.hasSuffix("=\(number % 4)"))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(jars.map(\.count) == [20, 20, 20, 20])
        }
    }

    @Test func `don't follow a redirect to another host`() async throws {
        try await LoopbackOrigin.serve {
            Self.answer($0)
        } during: { origin in
            let (port, jar) = (origin.port, CookieJar())
            let addresses = try ["a.example", "sub.a.example", "b.example"].map {
                try ConnectionSettings.FixedAddress("\($0):\(port):127.0.0.1")
            }
            try await LoopbackOrigin.serve { _ in
                OriginResponse(
                    status: 302,
                    headerFields: [.setCookie: "host=1", .location: "http://b.example:\(port)/x?late=1"])
            } during: { first in
                var configuration = Self.configuration(jar)
                let another = try ConnectionSettings.FixedAddress("a.example:\(first.port):127.0.0.1")
                configuration.connections.fixedAddresses = addresses + [another]
                try await HTTPTransport.withTransport(configuration: configuration) { transport in
                    func check(_ url: String, _ expected: Set<Substring>) async throws {
                        let found = try await Self.read(transport.open(TransportRequest(URL(fetchable: url))))
                        #expect(found == expected)
                    }
                    try await check("http://a.example:\(first.port)/", [])
                    // Cookies hold for all ports (RFC 6265, section 8.5).
                    try await check("http://a.example:\(port)/?all=2;+Domain=a.example", ["host=1"])
                    try await check("http://sub.a.example:\(port)/?x=3;+Domain=b.example", ["all=2"])
                    try await check("http://b.example:\(port)/", ["late=1"])
                }
            }
        }
    }

    @Test(.enabled(if: CookieJar.knowsPublicSuffixes, "libcurl doesn't know the public suffixes"))
    func `for a public suffix are refused`() async throws {
        try await LoopbackOrigin.serve {
            Self.answer($0)
        } during: { origin in
            let jar = CookieJar()
            var configuration = Self.configuration(jar)
            configuration.connections.fixedAddresses = [
                try .init("evil.co.uk:\(origin.port):127.0.0.1"), try .init("good.co.uk:\(origin.port):127.0.0.1"),
            ]
            try await HTTPTransport.withTransport(configuration: configuration) { transport in
                let target = "/?a=1;+Domain=co.uk&b=2;+Domain=.uk&c=3;+Domain=evil.co.uk"
                for host in ["evil", "good"] {
                    let url = try URL(fetchable: "http://\(host).co.uk:\(origin.port)\(target)")
                    #expect(try await Self.read(transport.open(TransportRequest(url))).isEmpty)
                }
            }
            #expect(jar.count == 1)
        }
    }

    @Test func `of URLSession are refused`() async throws {
        try await TestedTransport.urlSession.withTransport(Self.configuration(CookieJar())) { transport in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(TransportRequest(URL(fetchable: "http://127.0.0.1:1/")))
            }
            #expect(error?.description.contains("CookieJar") == true)
        }
    }

    @Test func `are in no description`() throws {
        let jar = try CookieJar(netscape: "a.example\tFALSE\t/\tFALSE\t0\tsid\thush-Secret\n")
        for text in ["\(jar)", String(reflecting: jar), "\(HTTPTransport.Configuration(cookies: jar))"] {
            #expect(!text.contains("Secret"))
        }
        #expect(jar.description == "1 cookie")
    }
}

@Suite struct `A cookie file` {
    @Test func `is read and written, with the cookies of the session`() throws {
        let text = """
            # Netscape HTTP Cookie File
            # a comment

            #HttpOnly_.a.example\tTRUE\t/\tTRUE\t4000000000\tid\ta b=c
            b.example\tFALSE\t/sub\tFALSE\t0\tempty\t
            c.example\tFALSE\t/\tFALSE\t1\texpired\tx
            """
        let jar = try CookieJar(netscape: text.replacing("\n", with: "\r\n"))
        let lines = jar.netscapeText.split(separator: "\n").dropFirst().map(String.init)
        #expect(
            lines == [
                "#HttpOnly_.a.example\tTRUE\t/\tTRUE\t4000000000\tid\ta b=c",
                "b.example\tFALSE\t/sub\tFALSE\t0\tempty\t",
            ])
        #expect(try CookieJar(netscape: jar.netscapeText).netscapeText == jar.netscapeText)
    }

    @Test(arguments: ["...a.example", "#HttpOnly_..a.example"])
    func `with several dots before its domain is the same when it is written and read`(domain: String) throws {
        let written = try CookieJar(netscape: "\(domain)\tTRUE\t/\tFALSE\t0\ta\tb").netscapeText
        #expect(written.contains(".a.example\tTRUE") && !written.contains(".."))
        #expect(try CookieJar(netscape: written).netscapeText == written)
    }

    @Test(arguments: ["com", ".com", "..com", "#HttpOnly_com"])
    func `gives no cookie to all hosts below a top-level domain`(domain: String) throws {
        let jar = try CookieJar(netscape: "\(domain)\tTRUE\t/\tFALSE\t0\ta\tb")
        #expect(!jar.netscapeText.contains("TRUE"))
    }

    @Test(
        arguments: [
            ("ALL", 1), ("\nFLUSH", 2), ("Set-Cookie: hush=Secret", 1), ("a.example\tFALSE\t/\tFALSE\t0", 1),
            ("a.example\tFALSE\t/\tFALSE\tsoon\thush\tSecret", 1), ("# x\n\ta\t/\tFALSE\t0\thush\tSecret", 2),
            ("a.example\tFALSE\t/\tFALSE\t0\thush\tSec\u{0}ret", 1), ("[{\"hush\": \"Secret\"}]", 1),
            ("a.example\tFALSE\t/\tFALSE\t0\ta\tb\thush", 1), ("a.example FALSE / FALSE 0 hush Secret", 1),
            ("a.example\tFALSE\t/\tFALSE\t-1\thush\tSecret", 1), (".\tTRUE\t/\tFALSE\t0\thush\tSecret", 1),
            ("#HttpOnly_.\tTRUE\t/\tFALSE\t0\thush\tSecret", 1), (".#HttpOnly_a.b\tTRUE\t/\tFALSE\t0\thush\tSecret", 1),
        ] as [(String, Int)])
    func `that isn't valid is an error that names the line, but nothing of its text`(text: String, line: Int) {
        let error = #expect(throws: CookieJar.InvalidCookies.self) { try CookieJar(netscape: text) }
        #expect(error?.line == line)
        let shown = error?.description ?? "hush"
        #expect(!shown.contains("hush") && !shown.contains("Secret"))
    }

    @Test func `with a huge time or a huge cookie is harmless`() throws {
        let line = { (time: String, value: String) in "a.example\tFALSE\t/\tFALSE\t\(time)\ta\t\(value)\n" }
        #expect(try CookieJar(netscape: line("99999999999999999999999", "b")).count <= 1)
        let long = String(repeating: "x", count: 100_000)
        let error = #expect(throws: CookieJar.InvalidCookies.self) { try CookieJar(netscape: line("0", long)) }
        #expect(error?.message == "It has more than 5000 bytes.")
    }
}
