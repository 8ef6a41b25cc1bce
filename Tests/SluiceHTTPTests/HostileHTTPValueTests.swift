import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@Suite struct `Hostile values for SluiceHTTP` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-hostile-http-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for SluiceHTTP`.calls, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test(arguments: traps.indices)
    func `a programming error traps`(index: Int) async {
        await #expect(processExitsWith: .failure, "\(Self.traps[index].reason)") { [index] in
            try await `Hostile values for SluiceHTTP`.traps[index].body()
        }
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("SluiceHTTP", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    /// The documented preconditions.
    static let traps: [(reason: String, body: @Sendable () async throws -> Void)] = [
        ("a policy has no negative number of retries", { _ = RetryPolicy(maximumRetries: -1) }),
        (
            "retries are counted from 1",
            {
                var random = SeededRandom(seed: 1)
                _ = RetryPolicy().delay(beforeRetry: 0, using: &random)
            }
        ),
        ("a transport needs time to connect", { _ = HTTPTransport.Configuration(connectTimeout: .zero) }),
        ("a transport needs time to wait", { _ = HTTPTransport.Configuration(stallTimeout: .seconds(-1)) }),
        ("a transport needs a buffer", { _ = HTTPTransport.Configuration(bufferSize: 0) }),
        ("the shared transport can't be shut down", { await HTTPTransport.shared.shutdown() }),
    ]

    static let calls: [HostileCall] = [
        HostileCall("URL.init(fetchable:)") { _ = try URL(fetchable: $0.text()) },
        HostileCall("SafeFileName.suggested(by:)") { values in
            let name = SafeFileName.suggested(by: values.url())
            guard SafeFileName.isSafe(name) else { fatalError("'\(name)' isn't safe.") }
        },
        HostileCall("SafeFileName.suggested(byContentDisposition:)") { values in
            guard let name = SafeFileName.suggested(byContentDisposition: values.text()) else { return }
            guard SafeFileName.isSafe(name) else { fatalError("'\(name)' isn't safe.") }
        },
        HostileCall("SafeFileName.safe(_:)") { values in
            guard let name = SafeFileName.safe(values.text()) else { return }
            guard SafeFileName.isSafe(name) else { fatalError("'\(name)' isn't safe.") }
        },
        HostileCall("SafeFileName.isSafe(_:)") { _ = SafeFileName.isSafe($0.text()) },
        HostileCall("RetryPolicy.init(maximumRetries:baseDelay:maximumDelay:maximumRetryAfter:)") { _ = policy(&$0) },
        HostileCall("RetryPolicy.delay(beforeRetry:retryAfter:using:)") { values in
            var random = SeededRandom(seed: 1)
            let policy = policy(&values)
            let delay = policy.delay(
                beforeRetry: values.int(from: 1), retryAfter: values.one(of: [nil, values.duration()]), using: &random)
            guard (delay ?? .zero) >= .zero else { fatalError("The delay \(delay!) is negative.") }
        },
        HostileCall("RedirectPolicy.init(maximumRedirects:)") { values in
            let policy = RedirectPolicy(maximumRedirects: values.int())
            _ = HTTPTransport.Configuration(redirects: policy)
        },
        HostileCall("TransferError.init(_:url:detail:remedy:cause:)") { values in
            let error = TransferError(.stalled, url: values.url(), detail: values.text(), remedy: values.text())
            _ = (error.description, error.hashValue, error == error, String(reflecting: error), error.isTransient)
        },
        HostileCall("TransferError.init(status:url:)") { values in
            _ = TransferError(status: .init(code: .random(in: 0...999)), url: values.url()).description
        },
        HostileCall("TransportRequest.init(_:method:headerFields:body:)") { values in
            let fields = [values.text(), values.text()].reduce(into: HTTPFields()) { $0[.userAgent] = $1 }
            let request = TransportRequest(
                values.url(), method: .post, headerFields: fields, body: Data(values.bytes()))
            _ = (request.description, String(reflecting: request))
        },
        HostileCall("TransportResponse.init(status:headerFields:url:redirectCount:body:)") { values in
            let response = try await response(&values)
            var answer = TransportResponse(
                status: .ok, headerFields: [.contentLength: values.text()], url: values.url(),
                redirectCount: values.int(), body: response.body)
            _ = (answer.contentLength, answer.description, String(reflecting: answer))
            answer.headerFields[.contentLength] = String(values.int64())
            _ = answer.contentLength
        },
        HostileCall("ResponseBody.collect(upTo:)") { values in
            _ = try await response(&values).body.collect(upTo: values.int())
        },
        HostileCall(
            "TransportTimings.init(nameLookup:connection:handshake:firstByte:total:isConnectionReused:)"
        ) { values in
            _ = TransportTimings(
                nameLookup: values.duration(), connection: values.duration(), handshake: values.duration(),
                firstByte: values.duration(), total: values.duration())
        },
        HostileCall(
            "HTTPTransport.Configuration.init(connectTimeout:stallTimeout:redirects:"
                + "userAgent:bufferSize:proxy:certificateAuthorities:clientCertificate:clientKey:credentials:connections:cookies:)"
        ) { values in
            let configuration = configuration(&values)
            _ = String(reflecting: configuration)
        },
        HostileCall("HTTPTransport.open(_:)") { values in
            // Nothing listens on port 1, and there is no proxy, so no request leaves the machine.
            var configuration = configuration(&values)
            configuration.proxy = .none
            let transport = HTTPTransport(configuration: configuration)
            let url = values.one(of: [
                URL(string: "http://127.0.0.1:1/\(values.int())")!, URL(string: "https://127.0.0.1:1/")!,
            ])
            let request = TransportRequest(url, headerFields: [.referer: values.text()], body: Data(values.bytes()))
            _ = try? await transport.open(request)
            await transport.shutdown()
        },
        HostileCall("ProxySettings.init(_:exceptions:)") { values in
            let settings = ProxySettings(values.text(), exceptions: values.text())
            _ = HTTPTransport.Configuration(proxy: settings)
        },
        HostileCall("ServerCredentials.init(netrc:)") { values in
            let text = "machine \(values.text()) login \(values.text()) password \(values.text())"
            _ = try ServerCredentials(netrc: values.one(of: [text, values.text()])).description
        },
        HostileCall("ServerCredentials.set(user:password:for:)") { values in
            var credentials = ServerCredentials()
            credentials.set(user: values.text(), password: values.text(), for: values.url())
            _ = (credentials.description, String(reflecting: credentials), credentials.isEmpty)
        },
        HostileCall("ConnectionSettings.init(version:addressFamily:fixedAddresses:interface:unixSocket:)") { values in
            _ = String(reflecting: connections(&values))
        },
        HostileCall("ConnectionSettings.FixedAddress.init(_:)") { values in
            let text = values.one(of: [
                values.text(), "\(values.text()):\(values.int()):\(values.text())", "a:80:\(values.text())",
            ])
            let address = try ConnectionSettings.FixedAddress(text)
            guard try ConnectionSettings.FixedAddress(address.description) == address else {
                fatalError("'\(text)' changed.")
            }
        },
        HostileCall("CookieJar.init(netscape:)") { values in
            let line = "a.example\tTRUE\t/\tFALSE\t\(values.int64())\t\(values.text())\t\(values.text())"
            let jar = try CookieJar(
                netscape: values.one(of: [line, values.text(), "\(values.text())\tFALSE\t/\tFALSE\t0\ta"]))
            _ = (jar.description, jar.count, String(reflecting: jar))
            _ = try CookieJar(netscape: jar.netscapeText)
        },
        HostileCall("Checksum.init(_:)") { values in
            let text = values.one(of: ["", "sha256:", "SHA-512:"]) + values.text()
            guard let checksum = Checksum(text) else { return }
            guard Checksum(checksum.description) == checksum else { fatalError("'\(text)' changed.") }
        },
        HostileCall("Checksum.init(_:bytes:)") { values in
            for algorithm in Checksum.Algorithm.allCases { _ = Checksum(algorithm, bytes: values.bytes())?.description }
        },
        HostileCall("ChecksumList.init(_:)") { values in
            let digits = String(repeating: "0f", count: values.one(of: [31, 32, 64]))
            let text = values.one(of: ["\(digits)  ", "\\\(digits) *", "SHA256 (", "\u{FEFF}"]) + values.text()
            let list = try ChecksumList(text)
            _ = (list.count, list.names.map { list[$0] }, list[values.text()])
        },
        HostileCall("ScriptedTransport.init(_:)") { values in
            let url = values.url()
            let transport = ScriptedTransport([url: [.failure(TransferError(.stalled, url: url))]])
            _ = try? await transport.open(TransportRequest(url))
        },
    ]

    private static func policy(_ values: inout HostileValues) -> RetryPolicy {
        RetryPolicy(
            maximumRetries: values.int(from: 0), baseDelay: values.duration(), maximumDelay: values.duration(),
            maximumRetryAfter: values.duration())
    }

    private static func configuration(_ values: inout HostileValues) -> HTTPTransport.Configuration {
        HTTPTransport.Configuration(
            connectTimeout: max(values.duration(), .nanoseconds(1)),
            stallTimeout: max(values.duration(), .nanoseconds(1)),
            redirects: RedirectPolicy(maximumRedirects: values.int()), userAgent: values.text(),
            bufferSize: values.int(from: 1), proxy: ProxySettings(values.text(), exceptions: values.text()),
            certificateAuthorities: values.one(of: [nil, values.url()]),
            clientCertificate: values.one(of: [nil, values.url()]), clientKey: values.one(of: [nil, values.url()]),
            credentials: credentials(&values), connections: connections(&values),
            cookies: values.one(of: [nil, CookieJar()]))
    }

    private static func connections(_ values: inout HostileValues) -> ConnectionSettings {
        ConnectionSettings(
            version: values.one(of: [.http1, .http2]), addressFamily: values.one(of: [nil, .ipv4, .ipv6]),
            interface: values.one(of: [nil, values.text()]), unixSocket: values.one(of: [nil, values.text()]))
    }

    private static func credentials(_ values: inout HostileValues) -> ServerCredentials {
        var credentials = ServerCredentials()
        credentials.set(user: values.text(), password: values.text(), for: URL(string: "http://127.0.0.1:1/")!)
        return credentials
    }

    private static func response(_ values: inout HostileValues) async throws -> TransportResponse {
        let url = URL(string: "http://a.example/")!
        let body = [Data(values.bytes()), Data(), Data(values.bytes())]
        return try await ScriptedTransport([url: [.response(body: body)]]).open(TransportRequest(url))
    }
}
