import Foundation
import HTTPTypes
import LoopbackOrigin
import Testing
import URLSessionOnLinux

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `Connection settings` {
    private static func configuration(_ connections: ConnectionSettings) -> HTTPTransport.Configuration {
        .init(
            connectTimeout: .seconds(600), stallTimeout: .seconds(600),
            proxy: ProxySettings("http://proxy.invalid:1", exceptions: "*"), connections: connections)
    }

    /// Fetches `http://HOST:PORT/a` from an origin that answers with the Host field.
    private static func fetch(
        _ host: String, _ make: @Sendable (Int) throws -> ConnectionSettings
    ) async throws -> String {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array((request.headerFields[.init("Host")!] ?? "none").utf8))
        } during: { origin in
            try await HTTPTransport.withTransport(configuration: configuration(make(origin.port))) { transport in
                let url = try URL(fetchable: "http://\(host):\(origin.port)/a")
                let response = try await transport.open(TransportRequest(url))
                let text = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
                return text.replacing(":\(origin.port)", with: "")
            }
        }
    }

    @Test(arguments: ["files.invalid:%:127.0.0.1", "FILES.invalid:%:[::2],127.0.0.1"])
    func `a fixed address replaces the lookup, and the server gets the name`(text: String) async throws {
        let host = try await Self.fetch("files.invalid") { port in
            ConnectionSettings(fixedAddresses: [try .init(text.replacing("%", with: "\(port)"))])
        }
        #expect(host == "files.invalid")
    }

    @Test func `a fixed address of another host or port isn't used`() async throws {
        let error = await #expect(throws: TransferError.self) {
            try await Self.fetch("files.invalid") { port in
                ConnectionSettings(fixedAddresses: [
                    try .init("other.invalid:\(port):127.0.0.1"), try .init("files.invalid:1:127.0.0.1"),
                ])
            }
        }
        #expect(error?.code == .hostNotFound)
    }

    @Test(
        arguments: [
            ("a.example:443:192.0.2.7", "a.example:443:192.0.2.7"),
            ("A.Example.:80:2001:db8::7", "a.example:80:[2001:db8::7]"),
            ("a:65535:[::1],127.0.0.1,::2", "a:65535:[::1],127.0.0.1,[::2]"),
            ("bücher.example:80:127.0.0.1", "xn--bcher-kva.example:80:127.0.0.1"),
            ("", nil), ("a", nil), ("a:80", nil), ("a:80:", nil), ("a:80:b.example", nil), (":80:127.0.0.1", nil),
            ("a:0:127.0.0.1", nil), ("a:65536:127.0.0.1", nil), ("a:+80:127.0.0.1", nil), ("a:80:127.0.0.1,", nil),
            ("a:80:[127.0.0.1]", nil), ("a:80:127.1", nil), ("a/b:80:127.0.0.1", nil), ("u@a:80:127.0.0.1", nil),
            ("-a:80:127.0.0.1\u{0}", nil), ("*:80:127.0.0.1", nil), ("a b:80:127.0.0.1", nil),
        ] as [(String, String?)])
    func `a fixed address is a host, a port and addresses`(text: String, expected: String?) {
        #expect((try? ConnectionSettings.FixedAddress(text))?.description == expected)
    }

    @Test(arguments: ["127.0.0.1", "lo"].filter { ConnectionSettings.problem(ofInterface: $0) == nil })
    func `requests come from the chosen interface`(name: String) async throws {
        let host = try await Self.fetch("127.0.0.1") { _ in .init(interface: name) }
        #expect(host == "127.0.0.1")
    }

    @Test(
        arguments: [
            (ConnectionSettings(interface: "no-such-one"), "no network interface with that name"),
            (ConnectionSettings(interface: ""), "no network interface"),
            (ConnectionSettings(interface: "lo\u{0}"), "no network interface"),
            // An address of documentation (RFC 5737), which this machine can't have.
            (ConnectionSettings(interface: "192.0.2.9"), "can't be used"),
            (ConnectionSettings(addressFamily: .ipv6), "only IPv6 addresses are used"),
            (ConnectionSettings(unixSocket: ""), "the path is empty"),
            (ConnectionSettings(unixSocket: "a\u{0}b"), "zero byte"),
            (ConnectionSettings(unixSocket: String(repeating: "s", count: 200)), "more than"),
        ] as [(ConnectionSettings, String)])
    func `that can't be used are an error with a remedy`(settings: ConnectionSettings, expected: String) async throws {
        let error = await #expect(throws: TransferError.self) { try await Self.fetch("127.0.0.1") { _ in settings } }
        #expect([.connectionFailed, .hostNotFound].contains(error?.code))
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
        #expect(error?.remedy != "Check the network connection.")
    }

    @Test func `URLSession refuses what only libcurl can do`() async throws {
        let settings = ConnectionSettings(addressFamily: .ipv4)
        try await TestedTransport.urlSession.withTransport(.init(proxy: .none, connections: settings)) { transport in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(TransportRequest(URL(fetchable: "http://127.0.0.1:1/")))
            }
            #expect(error?.description.contains("connections") == true)
        }
    }
}
