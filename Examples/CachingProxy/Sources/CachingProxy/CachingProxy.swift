import ArgumentParser
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import SluiceCache
import SluiceHTTP

/// A reverse proxy whose responses come from a `ResourceCache`.
@main
struct CachingProxy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "CachingProxy",
        abstract: "A caching reverse proxy on 127.0.0.1.",
        discussion: """
            Requests are forwarded to the origin, and its responses are stored as RFC 9111 allows for a private cache. SIGTERM and SIGINT \
            end the proxy after the running requests.
            """)

    @Option(help: "The server to forward to, such as http://127.0.0.1:9000.", transform: Self.origin)
    var origin: URL

    @Option(help: "The port to listen on. 0 picks a free one.")
    var port = 8080

    @Option(help: "The directory of the cache. It is created if it is missing.")
    var directory: String

    func validate() throws {
        guard (0...65535).contains(port) else {
            throw ValidationError("--port must be between 0 and 65535; it is \(port).")
        }
        guard !directory.isEmpty else { throw ValidationError("--directory must not be empty.") }
    }

    func run() async throws {
        // A response must be for the requested URL, so redirects aren't followed. A request contains only what the client sent.
        let settings = HTTPTransport.Configuration(redirects: .unfollowed, userAgent: "")
        try await HTTPTransport.withTransport(configuration: settings) { transport in
            // The clients decide whether to retry.
            let configuration = ResourceCache.Configuration(
                concurrency: 64, concurrencyPerHost: 64, maximumResponseSize: Proxy.maximumBodySize,
                retries: RetryPolicy(maximumRetries: 0))
            try await ResourceCache.withCache(
                directory: URL(filePath: directory, directoryHint: .isDirectory), configuration: configuration,
                transport: transport
            ) { cache in
                try await serve(Proxy(origin: origin, cache: cache))
            }
        }
    }

    /// Returns when a signal has ended the server.
    private func serve(_ proxy: Proxy) async throws {
        var logger = Logger(label: "CachingProxy") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let server = try HTTPServerBuilder.http1(
            configuration: .init(additionalChannelHandlers: [ProxiedConnection()], idleTimeout: .seconds(60))
        ).buildServer(
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger
        ) { request, writer, _ in
            try await proxy.respond(to: request, writer)
        } onServerRunning: { channel in
            let line = "Listening on http://127.0.0.1:\(channel.localAddress?.port ?? port)\n"
            // Unlike `print`, this writes immediately, even to a pipe.
            FileHandle.standardOutput.write(Data(line.utf8))
        }
        var configuration = ServiceGroupConfiguration(
            services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = .seconds(30)
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw Problem(description: "Port \(port) is in use. Pass another --port, or --port 0 to pick a free one.")
        }
    }

    @Sendable private static func origin(_ text: String) throws -> URL {
        let url = try URL(fetchable: text)
        guard url.path(percentEncoded: true).isEmpty || url.path(percentEncoded: true) == "/", url.query() == nil,
            url.fragment() == nil, url.user() == nil, url.password() == nil
        else {
            throw ValidationError(
                "An origin has only a scheme, a host and a port. Pass it without path, query and user.")
        }
        return url
    }
}

/// An error whose text is all that the user needs.
private struct Problem: Error, CustomStringConvertible {
    var description: String
}
