import Foundation
import HTTPTypes
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `Secrets in external text` {
    /// A request with every kind of secret.
    static let request = TransportRequest(
        URL(string: "https://ann:p%40ss%2Fw0rd@a.example/path?sig=Zm9v%2BYmFy&token=t0ken+t0ken#frag-Secret")!,
        headerFields: [
            .authorization: "Bearer bear-Secret", .cookie: "a=cook-Secret; b=other-Secret",
            .proxyAuthorization: "Basic \(Data("bob:basic-Secret".utf8).base64EncodedString())",
            .init("X-Api-Key")!: "key-Secret",
        ])
    static let proxy = "http://carl:pr%6fxy-Secret@proxy.example:3128"
    static let redaction = Redaction(of: request, proxy: proxy)

    /// The secrets of the request and its proxy, in each form that may appear in text.
    static let secrets = [
        "p%40ss%2Fw0rd", "p%40ss%2fw0rd", "p@ss/w0rd", "P@SS/W0RD", base64("ann:p@ss/w0rd"), "sig=Zm9v%2BYmFy",
        "Zm9v%2BYmFy", "Zm9v+YmFy", "t0ken+t0ken", "t0ken t0ken", "t0ken%20t0ken", "frag-Secret", "bear-Secret",
        "Bearer bear-Secret", "cook-Secret", "other-Secret", "basic-Secret", base64("bob:basic-Secret"), "key-Secret",
        "pr%6fxy-Secret", "proxy-Secret", base64("carl:proxy-Secret"),
    ]

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    @Test(
        arguments: secrets,
        ["%", "'%'", "(%)", "before%after", "http://%@host/a", "https://host/a?b=%", "key=% ", "…%…", "\u{1F600}%\n"])
    func `are redacted anywhere in a text`(secret: String, frame: String) {
        let shown = Self.redaction.redacted(frame.replacing("%", with: secret))
        #expect(!shown.lowercased().contains(secret.lowercased()), "\(shown)")
        for part in ["w0rd", "Zm9v", "t0ken", "Secret"] { #expect(!shown.contains(part), "\(shown)") }
    }

    @Test(
        arguments: [
            ("SSL certificate problem: unable to get local issuer certificate", nil),
            ("Could not resolve proxy: proxy.example", nil), ("annual scandal", nil), ("", nil), ("%", nil),
            ("://", nil),
            ("user ann was refused", "user … was refused"), ("'ann'", "'…'"), ("%3Aann%40", "%3A…%40"),
            ("see https://b.example/c?d=e#f.", "see https://b.example/c?….",),
            ("(http://u:p@b.example/c#f), http://u@d/", "(http://b.example/c), http://d/"),
            ("http://u:p/w@b.example/c, http://u:p#w@d/", "http://b.example/c, http://d/"),
            ("http://b.example:80/@name/c@2x.png", nil),
            ("postgres://u:p@h/db?password=x is down", "postgres://u@h/db?… is down"),
            ("'PostgreSQL://u:p@h:5432/db#queue'", "'PostgreSQL://u@h:5432/db#queue'"),
            ("postgres://u:p#w@h/db, postgres://u:p/w@h/db#q", "postgres://u@h/db, postgres://u@h/db#q"),
            ("postgres://u:p@w/x@h/db#q", "postgres://w/x@h/db"), ("mypostgres://u@h/#q", "mypostgres://h/"),
        ] as [(String, String?)])
    func `are redacted only as whole words if short, and other words stay`(text: String, shown: String?) {
        #expect(Self.redaction.redacted(text) == shown ?? text)
    }

    @Test(arguments: [
        "http://ann:secret@", "ann:secret@127.0.0.1:x", "foo://ann:se/cret@x", "http://ann:se@cret@x", "ann@x", "@", "",
        "http://:secret@x", "//secret@x", "http://ann:secret@\u{301}x",
    ])
    func `of a proxy are redacted even if its address isn't a URL`(proxy: String) {
        let redaction = Redaction(of: TransportRequest(URL(string: "http://a.example/")!), proxy: proxy)
        for form in [proxy, proxy.lowercased(), "'\(proxy)': Port number", Data(proxy.utf8).base64EncodedString()] {
            let shown = redaction.redacted("Unsupported proxy syntax in \(form)")
            #expect(!shown.contains("secret") && !shown.contains("se/cret") && !shown.contains("cret@"), "\(shown)")
        }
    }

    @Test func `don't include plain numbers in a query`() {
        let error = TransferError(
            .stalled, url: URL(string: "http://a.example/x?s=30&sig=ab12")!, detail: "nothing arrived for 30 s, ab12")
        #expect(error.message == "The server stopped sending (nothing arrived for 30 s, …).")
    }

    @Test func `of one or two bytes aren't redacted in other text`() throws {
        let request = TransportRequest(
            URL(string: "http://a:1@s.example/x?t=is#the")!,
            headerFields: [.cookie: "a=1; b=of", .authorization: "x y"])
        let text = "the name of a host is 1 of s, x and y"
        #expect(Redaction(of: request, proxy: "http://a:s@proxy.example").redacted(text) == text)
        #expect(Redaction(of: request).redacted("'a:1', http://a:1@s.example/") == "'…', http://s.example/")
        let error = TransferError(.stalled, url: request.url, detail: "nothing arrived for 1 s")
        #expect(error.message == "The server stopped sending (nothing arrived for 1 s).")
    }

    @Test func `don't appear in descriptions or dumps of the values that hold them`() {
        struct All {
            var proxy = ProxySettings(`Secrets in external text`.proxy, exceptions: "b.example")
            var bare = ProxySettings("carl:proxy-Secret@proxy.example:3128")
            var wrong = ProxySettings("http://carl:proxy-Secret")
            var configuration = HTTPTransport.Configuration(proxy: ProxySettings(`Secrets in external text`.proxy))
            var request = `Secrets in external text`.request
            var response = TransportResponse(
                status: .ok, headerFields: [.setCookie: "a=cook-Secret"], url: `Secrets in external text`.request.url,
                body: ResponseBody(Nothing()))
            var error = TransferError(.stalled, url: `Secrets in external text`.request.url)
        }
        let all = All()
        var dumped = ""
        dump(all, to: &dumped)
        for text in ["\(all)", String(reflecting: all), dumped, "\(all.request)", "\(all.response)", "\(all.proxy)"] {
            for secret in Self.secrets + ["ann", "carl"] { #expect(!text.contains(secret), "\(text)") }
        }
        #expect(
            "\(all.proxy)"
                == "http: http://proxy.example:3128, https: http://proxy.example:3128, exceptions: b.example")
        #expect("\(all.bare) \(all.wrong)".hasPrefix("http: proxy.example:3128, https: proxy.example:3128,"))
        #expect("\(all.wrong)" == "http: …, https: …, exceptions: none")
        #expect("\(ProxySettings.none)" == "http: none, https: none, exceptions: none")
        #expect("\(all.request)" == "GET https://a.example/path?…")
        #expect("\(all.response)" == "200 from https://a.example/path?…")
    }

    private final class Nothing: ResponseBodySource {
        func nextBatch() async throws -> [Data]? { nil }
    }

    @Test func `are redacted in an error's detail`() {
        let error = TransferError(
            .connectionFailed, url: Self.request.url,
            detail: "NSErrorFailingURLStringKey=https://ann:p%40ss%2Fw0rd@a.example/path?sig=Zm9v%2BYmFy, p@ss/w0rd")
        #expect(
            error.message
                == "The host can't be reached (NSErrorFailingURLStringKey=https://a.example/path?…, …).")
    }

    @Test(arguments: [
        (HTTPField(name: .authorization, value: "Basic x"), "(left out)"),
        (HTTPField(name: .init("X-Auth-Token")!, value: "x"), "(left out)"),
        (HTTPField(name: .setCookie, value: "a=b"), "(left out)"),
        (HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"x\""), "Basic realm=\"x\""),
        (HTTPField(name: .location, value: "https://u:p@a.example/b?c#d"), "https://a.example/b?…"),
        (
            HTTPField(name: .init("Link")!, value: "<https://u:p@a.example/b>; rel=next"),
            "<https://a.example/b>; rel=next"
        ),
        (HTTPField(name: .init("Link")!, value: "</b?c>; rel=next"), "</b?…"),
        (HTTPField(name: .init("Link")!, value: "</b?\u{301}c>; rel=next"), "</b?…"),
        (HTTPField(name: .init("Refresh")!, value: "0; url=/b#c"), "0; url=/b?…"),
        (HTTPField(name: .init("X-Original-URL")!, value: "https://u:p@a.example/b?c"), "https://a.example/b?…"),
        (HTTPField(name: .server, value: "nginx"), "nginx"),
    ])
    func `are found by field name, and URLs in other fields are redacted`(field: HTTPField, shown: String) {
        #expect(field.redactedForDisplay == shown)
    }

    /// The ways in which a request can fail.
    enum Failure: CaseIterable {
        case noProxyHost, proxyRefuses, proxyIsNoURL, connectionRefused, noHost, notTLS, notHTTP, redirect,
            endlessRedirect
        case closed, stalled, status
    }

    @Test(arguments: TestedTransport.all, Failure.allCases)
    func `never appear in errors or traces, however a request fails`(tested: TestedTransport, failure: Failure)
        async throws
    {
        if [.noProxyHost, .proxyRefuses, .proxyIsNoURL].contains(failure), !tested.has(.configuredProxies) { return }
        let traced = Recorder<String>()
        let unheard = try UnheardPort()
        // The server sends back the secrets that it received.
        try await LoopbackOrigin.serve { request in
            let echo =
                "\(request.target) \(request.headerFields[.authorization] ?? "") \(request.headerFields[.cookie] ?? "")"
            return switch failure {
            case .proxyRefuses: .verbatim("HTTP/1.1 407 \(echo)\r\nContent-Length: 0\r\n\r\n")
            case .notHTTP: .verbatim("\(echo)\r\n\r\n")
            case .redirect: .redirect(to: "ftp://ann:p%40ss@b.example\(request.target)")
            case .endlessRedirect: .redirect(to: request.target)
            case .closed: .verbatim("")
            case .stalled: OriginResponse(announcedLength: 1, steps: [.stall])
            default: .verbatim("HTTP/1.1 404 \(echo)\r\nContent-Length: 0\r\n\r\n")
            }
        } during: { origin in
            let scheme = failure == .notTLS || failure == .proxyRefuses ? "https" : "http"
            let host = failure == .noHost ? "no-such-host.invalid" : "127.0.0.1"
            let port = failure == .connectionRefused ? Int(unheard.number) : origin.port
            var request = Self.request
            request.url = try #require(
                URL(
                    string: request.url.absoluteString.replacing("https://", with: "\(scheme)://")
                        .replacing("a.example", with: "\(host):\(port)")))
            let credentials = "carl:pr%6fxy-Secret@"
            let proxy: ProxySettings =
                switch failure {
                case .noProxyHost: ProxySettings("http://\(credentials)no-such-proxy.invalid:1")
                case .proxyRefuses: ProxySettings("http://\(credentials)127.0.0.1:\(origin.port)")
                case .proxyIsNoURL: ProxySettings("http://\(credentials)127.0.0.1:\(origin.port)x")
                default: .none
                }
            var configuration = HTTPTransport.Configuration(
                connectTimeout: .seconds(600), stallTimeout: .seconds(failure == .stalled ? 1 : 600), proxy: proxy)
            configuration.trace = { event in
                switch event.step {
                case .sent(let request): for field in request.headerFields { traced.note(field.redactedForDisplay) }
                case .answered(let head): for field in head.headerFields { traced.note(field.redactedForDisplay) }
                case .failed(let error): traced.note("\(error)")
                case .ended: break
                }
            }
            try await tested.withTransport(configuration) { transport in
                let failed = await #expect(throws: TransferError.self) {
                    let response = try await transport.open(request)
                    _ = try await response.body.collect(upTo: 10)
                    throw TransferError(status: response.status, url: response.url)
                }
                let error = try #require(failed)
                let texts = [error.description, error.localizedDescription, error.subject, error.remedy ?? ""]
                for text in texts + traced.values {
                    for secret in Self.secrets + ["p%40ss", "p@ss"] {
                        #expect(!text.lowercased().contains(secret.lowercased()), "\(failure): \(text)")
                    }
                }
            }
        }
    }
}
