import Foundation
import HTTPTypes
import SluiceFiles
import SluiceServer
import TestSupport
import Testing

@testable import LoopbackOrigin
@testable import SluiceHTTP

/// A real TLS server, with a certificate authority that the test creates.
private struct Nginx {
    /// The only file, 1 MiB at `/file`.
    static let file = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    var directory: URL
    /// The ports: with a valid certificate, one for another host, an expired one, and a valid one that asks for a client certificate.
    var right: UInt16, otherHost: UInt16, expired: UInt16, asking: UInt16

    var authority: URL { directory.appending(path: "ca.pem") }
    func url(_ port: UInt16, _ path: String = "/file") -> URL { URL(string: "https://127.0.0.1:\(port)\(path)")! }

    static func serve<Result>(_ body: (Nginx) async throws -> Result) async throws -> Result {
        try await ServerPrograms.withDirectory { directory in
            try await makeCertificates(in: directory)
            try Self.file.write(to: directory.appending(path: "file"))
            func prepare(_ ports: [UInt16]) throws -> [String] {
                let certificates = ["right", "other", "expired", "right"]
                let servers = zip(ports, certificates).enumerated().map { index, server in
                    """
                    server {
                        listen 127.0.0.1:\(server.0) ssl http2; root \(directory.path);
                        ssl_certificate \(server.1).pem; ssl_certificate_key \(server.1).key;
                        add_header X-Seen "$server_protocol $connection";
                        \(index == 0 ? "listen unix:\(directory.path)/socket;" : "")
                        \(index == 3 ? "ssl_verify_client on; ssl_client_certificate ca.pem;" : "")
                    }
                    """
                }
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].enumerated()
                let configuration = """
                    daemon off; master_process off; pid nginx.pid; error_log error.log;
                    events { worker_connections 256; }
                    http {
                        access_log off;
                        \(temporary.map { "\($1)_temp_path t\($0);" }.joined(separator: " "))
                        \(servers.joined(separator: "\n"))
                    }
                    """
                try Data(configuration.utf8).write(to: directory.appending(path: "nginx.conf"))
                return ["-e", "error.log", "-p", directory.path, "-c", "nginx.conf"]
            }
            return try await ServerPrograms.serve("nginx", ports: 4, in: directory, prepare) { ports in
                try await body(
                    Nginx(
                        directory: directory, right: ports[0], otherHost: ports[1], expired: ports[2], asking: ports[3])
                )
            }
        }
    }

    private static func makeCertificates(in directory: URL) async throws {
        func openssl(_ words: String) async throws {
            try await ServerPrograms.run("openssl", words.split(separator: " ").map(String.init), in: directory)
        }
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        try await openssl("req -x509 \(key) -keyout ca.key -out ca.pem -subj /CN=Authority -days 2")
        for (name, host) in [
            ("right", "IP:127.0.0.1"), ("other", "DNS:other.invalid"), ("expired", "IP:127.0.0.1"),
            ("client", "DNS:client.invalid"),
        ] {
            try await openssl("req \(key) -keyout \(name).key -out \(name).csr -subj /CN=\(name)")
            try Data("subjectAltName=\(host)\n".utf8).write(to: directory.appending(path: "\(name).cnf"))
            let sign =
                "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -out \(name).pem -extfile \(name).cnf"
            guard name == "expired" else {
                try await openssl("\(sign) -days 2")
                continue
            }
            do {
                try await openssl("\(sign) -days -1")
            } catch {
                // OpenSSL 3.5 rejects a negative number of days, and 3.0 doesn't have these options.
                try await openssl("\(sign) -not_before 20200101000000Z -not_after 20200102000000Z")
            }
        }
    }
}

@Suite(
    .enabled(if: ServerPrograms.areThere, "skipped: nginx, openssl, tinyproxy or microsocks is missing"),
    .timeLimit(.minutes(15)))
struct `Against nginx with TLS` {
    @Test(arguments: TestedTransport.having(.configuredTrust))
    func `files arrive whole and in ranges, over reused connections`(tested: TestedTransport) async throws {
        try await Nginx.serve { nginx in
            let configuration = HTTPTransport.Configuration(
                stallTimeout: .seconds(600), proxy: .none, certificateAuthorities: nginx.authority)
            try await tested.withTransport(configuration) { transport in
                let whole = try await transport.open(.init(nginx.url(nginx.right)))
                #expect(whole.status == .ok && whole.contentLength == 1 << 20)
                let tag = try #require(whole.headerFields[.eTag])
                #expect(try await whole.body.collect(upTo: 1 << 20) == Nginx.file)
                if tested.has(.detailedTimings) { #expect(try #require(whole.timings?.handshake) > .zero) }
                for start in stride(from: 0, to: 1 << 20, by: 1 << 16) {
                    let part = try await transport.open(
                        .init(
                            nginx.url(nginx.right),
                            headerFields: [.range: "bytes=\(start)-\(start + 99)", .ifRange: tag]))
                    #expect(part.status == .partialContent)
                    #expect(part.headerFields[.contentRange] == "bytes \(start)-\(start + 99)/1048576")
                    #expect(try await part.body.collect(upTo: 100) == Nginx.file[start..<start + 100])
                }
                let head = try await transport.open(.init(nginx.url(nginx.right), method: .head))
                #expect(head.contentLength == 1 << 20)
                let unchanged = try await transport.open(
                    .init(nginx.url(nginx.right), headerFields: [.ifNoneMatch: tag]))
                #expect(unchanged.status == .notModified)
                #expect(try await transport.open(.init(nginx.url(nginx.right, "/none"))).status == .notFound)
                let beyond = try await transport.open(
                    .init(nginx.url(nginx.right), headerFields: [.range: "bytes=1048576-"]))
                #expect(beyond.status == .rangeNotSatisfiable)
            }
        }
    }

    @Test(arguments: TestedTransport.having(.configuredTrust, .exactErrors))
    func `an untrusted authority, a wrong host and an expired certificate are clear errors`(
        tested: TestedTransport
    ) async throws {
        try await Nginx.serve { nginx in
            for (port, authority, word) in [
                (nginx.right, nil, "certificate"), (nginx.otherHost, nginx.authority, "127.0.0.1"),
                (nginx.expired, nginx.authority, "expired"),
                (nginx.right, nginx.directory.appending(path: "none.pem"), "none.pem"),
            ] as [(UInt16, URL?, String)] {
                let configuration = HTTPTransport.Configuration(
                    stallTimeout: .seconds(600), proxy: .none, certificateAuthorities: authority)
                try await tested.withTransport(configuration) { transport in
                    let error = await #expect(throws: TransferError.self) {
                        try await transport.open(.init(nginx.url(port)))
                    }
                    #expect(error?.code == .tlsFailed)
                    #expect(error?.description.contains(word) == true, "\(String(describing: error))")
                }
            }
        }
    }

    @Test(arguments: TestedTransport.having(.configuredTrust, .exactErrors), [true, false])
    func `a connection that ends during the handshake is worth another attempt`(
        tested: TestedTransport, isReset: Bool
    ) async throws {
        let (server, address) = try await ServerSocket.listening(on: .ip("127.0.0.1", port: 0), using: .shared)
        async let end: Void = {
            let connection = try await server.accepted {}
            if isReset { connection.resetWhenClosed() }
            _ = try await connection.read()
        }()
        let configuration = HTTPTransport.Configuration(stallTimeout: .seconds(600), proxy: .none)
        try await tested.withTransport(configuration) { transport in
            let url = try #require(URL(string: "https://\(address)/"))
            let error = await #expect(throws: TransferError.self) { try await transport.open(.init(url)) }
            #expect(error?.code == .connectionClosed && error?.isTransient == true)
            #expect(error?.message.contains("TLS handshake") == true, "\(String(describing: error))")
        }
        try await end
    }

    @Test(arguments: TestedTransport.having(.configuredTrust))
    func `a server that asks for a client certificate gets it or rejects the client`(tested: TestedTransport)
        async throws
    {
        try await Nginx.serve { nginx in
            for hasCertificate in [true, false] {
                let configuration = HTTPTransport.Configuration(
                    stallTimeout: .seconds(600), proxy: .none, certificateAuthorities: nginx.authority,
                    clientCertificate: hasCertificate ? nginx.directory.appending(path: "client.pem") : nil,
                    clientKey: hasCertificate ? nginx.directory.appending(path: "client.key") : nil)
                try await tested.withTransport(configuration) { transport in
                    let status = try await transport.open(.init(nginx.url(nginx.asking))).status
                    #expect(status == (hasCertificate ? .ok : .badRequest))
                }
            }
        }
    }

    /// nginx can stand in for a proxy: it takes the path from a full URL and ignores the host.
    @Test(arguments: TestedTransport.having(.configuredTrust, .configuredProxies))
    func `an https proxy is verified with the configured authorities`(tested: TestedTransport) async throws {
        try await Nginx.serve { nginx in
            for (port, authority) in [
                (nginx.right, nginx.authority), (nginx.right, nil), (nginx.otherHost, nginx.authority),
                (nginx.expired, nginx.authority),
            ] {
                let configuration = HTTPTransport.Configuration(
                    stallTimeout: .seconds(600), proxy: ProxySettings("https://ann:secret@127.0.0.1:\(port)"),
                    certificateAuthorities: authority)
                try await tested.withTransport(configuration) { transport in
                    let request = TransportRequest(try URL(fetchable: "http://a.invalid/file"))
                    guard port == nginx.right, authority != nil else {
                        let error = await #expect(throws: TransferError.self) { try await transport.open(request) }
                        #expect(error?.code == .tlsFailed, "\(String(describing: error))")
                        #expect(error?.description.contains("secret") == false)
                        return
                    }
                    #expect(try await transport.open(request).body.collect(upTo: 1 << 20) == Nginx.file)
                }
            }
        }
    }

    @Test(arguments: TestedTransport.having(.configuredTrust, .configuredProxies), ["http", "socks5", "socks5h"])
    func `real proxies forward files and reject a wrong password`(tested: TestedTransport, scheme: String)
        async throws
    {
        try await Nginx.serve { nginx in
            func prepare(_ ports: [UInt16]) throws -> [String] {
                guard scheme == "http" else {
                    return ["-i", "127.0.0.1", "-p", "\(ports[0])", "-u", "ann", "-P", "secret"]
                }
                let configuration = """
                    Port \(ports[0])
                    Listen 127.0.0.1
                    Timeout 600
                    BasicAuth ann secret

                    """
                try Data(configuration.utf8).write(to: nginx.directory.appending(path: "proxy.conf"))
                return ["-d", "-c", "proxy.conf"]
            }
            let program = scheme == "http" ? "tinyproxy" : "microsocks"
            try await ServerPrograms.serve(program, ports: 1, in: nginx.directory, prepare) { ports in
                for (password, isRight) in [("secret", true), ("wrong", false)] {
                    let configuration = HTTPTransport.Configuration(
                        stallTimeout: .seconds(600),
                        proxy: ProxySettings("\(scheme)://ann:\(password)@127.0.0.1:\(ports[0])"),
                        certificateAuthorities: nginx.authority)
                    try await tested.withTransport(configuration) { transport in
                        guard isRight else {
                            let error = await #expect(throws: TransferError.self) {
                                try await transport.open(.init(nginx.url(nginx.right)))
                            }
                            #expect(error?.code == .proxyFailed, "\(String(describing: error))")
                            #expect(error?.description.contains("wrong") == false)
                            return
                        }
                        let response = try await transport.open(.init(nginx.url(nginx.right)))
                        #expect(try await response.body.collect(upTo: 1 << 20) == Nginx.file)
                    }
                }
            }
        }
    }

    @Test func `exchanges share a connection with HTTP/2, and a slow reader doesn't hold up the others`() async throws {
        try await Nginx.serve { nginx in
            let configuration = HTTPTransport.Configuration(
                stallTimeout: .seconds(600), bufferSize: 1, proxy: .none, certificateAuthorities: nginx.authority,
                connections: ConnectionSettings(version: .http2))
            try await HTTPTransport.withTransport(configuration: configuration) { transport in
                // Two, because there may be two threads with a connection each.
                let slow = try await (
                    transport.open(.init(nginx.url(nginx.right))), transport.open(.init(nginx.url(nginx.right)))
                )
                let seen = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<40 {
                        group.addTask {
                            let response = try await transport.open(.init(nginx.url(nginx.right)))
                            #expect(try await response.body.collect(upTo: 1 << 20) == Nginx.file)
                            return response.headerFields[.init("X-Seen")!] ?? ""
                        }
                    }
                    return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                }
                #expect(seen.count <= 2 && seen.allSatisfy { $0.hasPrefix("HTTP/2.0 ") }, "\(seen)")
                for response in [slow.0, slow.1] {
                    #expect(try await response.body.collect(upTo: 1 << 20) == Nginx.file)
                }
            }
        }
    }

    @Test func `a stopped exchange leaves the others of its HTTP/2 connection alone`() async throws {
        try await Nginx.serve { nginx in
            let configuration = HTTPTransport.Configuration(
                stallTimeout: .seconds(600), proxy: .none, certificateAuthorities: nginx.authority,
                connections: ConnectionSettings(version: .http2))
            try await HTTPTransport.withTransport(configuration: configuration) { transport in
                let kept = try await transport.open(.init(nginx.url(nginx.right)))
                for _ in 0..<10 { _ = try await transport.open(.init(nginx.url(nginx.right))) }
                let none = try await transport.open(.init(nginx.url(nginx.right, "/none")))
                #expect(none.status == .notFound)
                #expect(try await kept.body.collect(upTo: 1 << 20) == Nginx.file)
            }
        }
    }

    @Test func `a stopped exchange leaves no bytes to the next one of its HTTP/2 connection`() async throws {
        try await Nginx.serve { nginx in
            let configuration = HTTPTransport.Configuration(
                stallTimeout: .seconds(600), bufferSize: 1, proxy: .none, certificateAuthorities: nginx.authority,
                connections: ConnectionSettings(version: .http2))
            try await HTTPTransport.withTransport(configuration: configuration) { transport in
                // Their connections stay in use. There may be two threads with a connection each.
                let kept = try await (
                    transport.open(.init(nginx.url(nginx.right))), transport.open(.init(nginx.url(nginx.right)))
                )
                for _ in 0..<40 {
                    // libcurl holds the next bytes back, because the buffer is full.
                    for _ in 0..<4 {
                        let stopped = try await transport.open(.init(nginx.url(nginx.right)))
                        var iterator = stopped.body.makeAsyncIterator()
                        _ = try await iterator.nextBatch()
                        stopped.body.close()
                    }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<4 {
                            group.addTask {
                                let response = try await transport.open(.init(nginx.url(nginx.right)))
                                #expect(try await response.body.collect(upTo: 1 << 20) == Nginx.file)
                            }
                        }
                        try await group.waitForAll()
                    }
                }
                for response in [kept.0, kept.1] {
                    #expect(try await response.body.collect(upTo: 1 << 20) == Nginx.file)
                }
            }
        }
    }

    @Test func `requests go through a Unix socket, without a proxy`() async throws {
        try await Nginx.serve { nginx in
            var configuration = HTTPTransport.Configuration(
                stallTimeout: .seconds(600), proxy: ProxySettings("http://proxy.invalid:1"),
                connections: ConnectionSettings(unixSocket: nginx.directory.appending(path: "socket").path))
            let url = URL(string: "http://files.invalid/file")!
            try await HTTPTransport.withTransport(configuration: configuration) { transport in
                let response = try await transport.open(.init(url))
                #expect(try await response.body.collect(upTo: 1 << 20) == Nginx.file)
            }
            configuration.connections.unixSocket = nginx.directory.appending(path: "none").path
            try await HTTPTransport.withTransport(configuration: configuration) { transport in
                let error = await #expect(throws: TransferError.self) { try await transport.open(.init(url)) }
                #expect(error?.code == .connectionFailed)
            }
        }
    }
}

@Suite(.enabled(if: ServerPrograms.areThere)) struct `An encrypted key of a client certificate` {
    @Test func `is an error, without a passphrase prompt`() async throws {
        // A prompt would be written to standard error, and would read standard input.
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await ServerPrograms.withDirectory { directory in
                let words =
                    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -passout pass:secret -keyout key.pem -out a.pem"
                try await ServerPrograms.run(
                    "openssl", words.split(separator: " ").map(String.init) + ["-subj", "/CN=a"], in: directory)
                let configuration = HTTPTransport.Configuration(
                    connectTimeout: .seconds(600), proxy: .none, clientCertificate: directory.appending(path: "a.pem"),
                    clientKey: directory.appending(path: "key.pem"))
                try await LoopbackOrigin.serve { _ in
                    OriginResponse()
                } during: { origin in
                    let url = try URL(fetchable: origin.url("/").replacing("http:", with: "https:"))
                    try await HTTPTransport.withTransport(configuration: configuration) { transport in
                        do {
                            _ = try await transport.open(TransportRequest(url))
                            exit(EXIT_FAILURE)
                        } catch let error as TransferError {
                            guard error.code == .tlsFailed, error.remedy?.contains("encrypted") == true else {
                                exit(EXIT_FAILURE)
                            }
                        }
                    }
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(!text.contains("pass phrase"), "\(text)")
    }
}
