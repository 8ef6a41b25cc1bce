import Foundation
import SluiceFiles

/// An nginx server on 127.0.0.1.
enum Nginx {
    /// A certificate for 127.0.0.1 that signs itself, and its key.
    struct Certificate {
        var file: URL
        var key: URL

        static func create(in directory: URL) async throws -> Certificate {
            let made = Certificate(
                file: directory.appending(path: "certificate.pem"), key: directory.appending(path: "key.pem"))
            let curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
            let words = "req -x509 \(curve) -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
            let process = Process()
            process.executableURL = try Programs.found("openssl")
            process.arguments =
                words.split(separator: " ").map(String.init) + ["-out", made.file.path, "-keyout", made.key.path]
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw RowFailure.missing("openssl made no certificate") }
            return made
        }
    }

    /// Serves the files in `root` on a free port while `body` runs. The server's own files are in `work`.
    ///
    /// With a `rate`, each connection gets at most that many MiB per second. With a certificate, the server uses TLS, and HTTP/2 if the client can.
    static func serve(
        _ root: URL, work: URL, childUsage: URL, rate: Int? = nil, certificate: Certificate? = nil,
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let port = try Loopback.freePort()
        let configuration = work.appending(path: "nginx.conf")
        let text = text(root: root.path, work: work.path, port: port, rate: rate, certificate)
        try await Data(text.utf8).asyncWrite(to: configuration)
        let log = work.appending(path: "error.log")
        let arguments = ["-e", log.path, "-p", work.path, "-c", configuration.path]
        let server = Server(program: try Programs.found("nginx"), arguments: arguments, port: port, log: log)
        try await server.run(childUsage) { try await body(port) }
    }

    private static func text(root: String, work: String, port: UInt16, rate: Int?, _ certificate: Certificate?)
        -> String
    {
        let secure = certificate.map { "ssl_certificate \($0.file.path); ssl_certificate_key \($0.key.path);" }
        return """
            daemon off; master_process off; pid \(work)/nginx.pid; error_log \(work)/error.log;
            events { worker_connections 1024; }
            http {
                access_log off; sendfile on; keepalive_requests 100000;
                client_body_temp_path \(work)/t1; proxy_temp_path \(work)/t2; fastcgi_temp_path \(work)/t3;
                uwsgi_temp_path \(work)/t4; scgi_temp_path \(work)/t5;
                \(rate.map { "limit_rate \($0)m;" } ?? "")
                server { listen 127.0.0.1:\(port)\(secure == nil ? "" : " ssl http2"); root \(root); \(secure ?? "") }
            }

            """
    }
}
