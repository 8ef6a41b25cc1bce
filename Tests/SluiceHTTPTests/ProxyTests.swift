import Foundation
import HTTPTypes
import LoopbackOrigin
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct Proxies {
    @Test(
        arguments: [
            ([:], nil, nil, ""),
            (["http_proxy": "a:1", "HTTP_PROXY": "cgi:1"], "a:1", nil, ""),
            (["HTTP_PROXY": "cgi:1"], nil, nil, ""),
            (["https_proxy": "", "HTTPS_PROXY": "b:2"], nil, "b:2", ""),
            (["all_proxy": "c:3", "http_proxy": "a:1", "no_proxy": "x.example"], "a:1", "c:3", "x.example"),
            (["ALL_PROXY": "socks5h://d:4", "NO_PROXY": "*"], "socks5h://d:4", "socks5h://d:4", "*"),
        ] as [([String: String], String?, String?, String)])
    func `come from the environment`(variables: [String: String], http: String?, https: String?, exceptions: String) {
        let found = ProxySettings(variables: variables)
        #expect(found.http == http && found.https == https && found.exceptions == exceptions)
    }

    /// Fetches a URL through a proxy that responds itself, and returns the request target that the proxy received.
    private func asked(_ url: String, exceptions: String = "") async throws -> String {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array(request.target.utf8))
        } during: { proxy in
            let settings = ProxySettings("http://127.0.0.1:\(proxy.port)", exceptions: exceptions)
            return try await HTTPTransport.withTransport(configuration: .init(proxy: settings)) { transport in
                let response = try await transport.open(.init(URL(fetchable: url)))
                return String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
            }
        }
    }

    @Test func `get requests with the full URL`() async throws {
        // The host doesn't have to exist, because the proxy looks it up.
        #expect(try await asked("http://no-such-host.invalid/a?b#c") == "http://no-such-host.invalid/a?b")
    }

    @Test func `are bypassed for exceptions`() async throws {
        let error = await #expect(throws: TransferError.self) {
            try await asked("http://no-such-host.invalid/a", exceptions: "other.example,invalid")
        }
        #expect(error?.code == .hostNotFound)
    }

    @Test func `get the user name and password, and the server doesn't`() async throws {
        try await LoopbackOrigin.serve { request in
            OriginResponse(body: Array((request.headerFields[.proxyAuthorization] ?? "none").utf8))
        } during: { proxy in
            let settings = ProxySettings("http://ann:secret@127.0.0.1:\(proxy.port)")
            try await HTTPTransport.withTransport(configuration: .init(proxy: settings)) { transport in
                let response = try await transport.open(.init(URL(fetchable: "http://a.invalid/")))
                let seen = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
                #expect(seen == "Basic " + Data("ann:secret".utf8).base64EncodedString())
            }
        }
    }

    @Test(arguments: [
        "http://ann:secret@127.0.0.1:99999", "http://ann:secret@127.0.0.1:x", "ann:secret@127.0.0.1:x",
        "socks5h://ann:secret@127.0.0.1:x", "foo://ann:secret@127.0.0.1:1", "http://ann:secret@",
        "http://ann:secret@:1", "http://ann:se/cret@127.0.0.1:1", "http://ann:se@cret@127.0.0.1:1",
        "http://ann:se#cret@127.0.0.1:1", "http://ann:se?cret@127.0.0.1:1", "http://ann:se cret@127.0.0.1:1",
        "http://ann:secret@[::1:1", "http://ann:secret@127.0.0.1:1\r\nA: b", "http://ann:sec%0aret@127.0.0.1:1",
        "http://ann:secret@\u{301}127.0.0.1:1",
    ])
    func `with an invalid URL cause an error that doesn't contain the URL`(address: String) async throws {
        try await HTTPTransport.withTransport(configuration: .init(proxy: ProxySettings(address))) { transport in
            let error = await #expect(throws: TransferError.self) {
                try await transport.open(.init(URL(fetchable: "http://a.invalid/")))
            }
            #expect(error?.code == .proxyFailed, "\(String(describing: error))")
            for part in ["ann", "se", "cret", "secret"] {
                #expect(error.map { !"\($0.message) \($0.remedy ?? "")".contains("\(part)@") } == true)
            }
            #expect(error?.description.contains("cret") == false, "\(String(describing: error))")
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "http://127.1:1/"), ("LOCALHOST", "http://localhost:1/"), ("[::1]", "http://[0:0::1]:1/"),
        ("::1", "http://[::1]:1/"), (".xn--bcher-kva.invalid", "http://a.b\u{FC}cher.invalid:1/"),
        ("a.invalid.", "http://a.invalid:1/"), ("127.1", "http://127.0.0.1:1/"),
    ])
    func `aren't used for an exception in any spelling`(exception: String, url: String) throws {
        let settings = ProxySettings("http://proxy.invalid:1", exceptions: "other.example,\(exception)")
        #expect(try settings.proxy(for: URL(fetchable: url)) == nil)
    }

    @Test func `that refuse or can't be reached cause an error that doesn't contain their password`() async throws {
        try await LoopbackOrigin.serve { _ in
            OriginResponse(status: 407)
        } during: { proxy in
            for (address, url) in [
                ("http://ann:secret@no-such-proxy.invalid:1", "http://a.invalid/"),
                ("socks5h://ann:secret@no-such-proxy.invalid:1", "http://a.invalid/"),
                ("socks4://ann@no-such-proxy.invalid:1", "http://127.0.0.1:1/"),
                ("http://ann:secret@127.0.0.1:1", "http://a.invalid/"),
                ("socks5h://ann:secret@127.0.0.1:1", "http://a.invalid/"),
                ("http://ann:secret@127.0.0.1:\(proxy.port)", "https://a.invalid/"),
            ] {
                try await HTTPTransport.withTransport(configuration: .init(proxy: ProxySettings(address))) {
                    transport in
                    let error = await #expect(throws: TransferError.self) {
                        try await transport.open(.init(URL(fetchable: url)))
                    }
                    #expect(error?.code == .proxyFailed, "\(String(describing: error))")
                    #expect(error?.description.contains("secret") == false)
                }
            }
        }
    }
}
