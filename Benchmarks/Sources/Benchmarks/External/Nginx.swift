import Foundation
import SluiceFiles

/// An nginx server on 127.0.0.1.
enum Nginx {
    /// Serves the files in `root` on a free port while `body` runs. The server's own files are in `work`.
    ///
    /// With a `rate`, each connection gets at most that many MiB per second. `childUsage` starts the server, and stops it when its standard input ends. That also happens when this process is killed.
    static func serve(
        _ root: URL, work: URL, childUsage: URL, rate: Int? = nil, _ body: (UInt16) async throws -> Void
    ) async throws {
        let port = try Loopback.freePort()
        let configuration = work.appending(path: "nginx.conf")
        try await Data(text(root: root.path, work: work.path, port: port, rate: rate).utf8).asyncWrite(
            to: configuration)
        let log = work.appending(path: "error.log").path
        let server = Process()
        server.executableURL = childUsage
        server.arguments = [
            "--serve", try Programs.found("nginx").path, "-e", log, "-p", work.path, "-c", configuration.path,
        ]
        let input = Pipe()
        server.standardInput = input
        try server.run()
        do {
            try await waitUntilReady(server, port, log: log)
            try await body(port)
        } catch {
            try? await stop(server, input)
            throw error
        }
        try await stop(server, input)
    }

    private static func waitUntilReady(_ server: Process, _ port: UInt16, log: String) async throws {
        for _ in 0..<400 {
            if Loopback.accepts(port) { return }
            if !server.isRunning { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        let errors = (try? await Data(asyncContentsOf: URL(filePath: log))) ?? Data()
        throw RowFailure.missing("nginx did not start: \(String(decoding: errors, as: UTF8.self))")
    }

    /// Closes the server's input and waits. ChildUsage kills a server that doesn't stop in time.
    private static func stop(_ server: Process, _ input: Pipe) async throws {
        try input.fileHandleForWriting.close()
        for _ in 0..<1_000 {
            if !server.isRunning { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw RowFailure.leftBehind("nginx under process \(server.processIdentifier) did not stop")
    }

    private static func text(root: String, work: String, port: UInt16, rate: Int?) -> String {
        """
        daemon off; master_process off; pid \(work)/nginx.pid; error_log \(work)/error.log;
        events { worker_connections 1024; }
        http {
            access_log off; sendfile on; keepalive_requests 100000;
            client_body_temp_path \(work)/t1; proxy_temp_path \(work)/t2; fastcgi_temp_path \(work)/t3;
            uwsgi_temp_path \(work)/t4; scgi_temp_path \(work)/t5;
            \(rate.map { "limit_rate \($0)m;" } ?? "")
            server { listen 127.0.0.1:\(port); root \(root); }
        }

        """
    }
}
