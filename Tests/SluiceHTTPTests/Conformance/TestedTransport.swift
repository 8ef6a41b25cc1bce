import Foundation
import LoopbackOrigin
import Testing
import URLSessionOnLinux

@testable import SluiceHTTP

/// A transport that the suites run, and what it can. A test of what one lacks leaves that one out.
struct TestedTransport: Sendable, CustomTestStringConvertible {
    enum Capability: Sendable, CaseIterable {
        /// A reader that stops holds at most the buffer.
        case backPressure
        /// A body that is coded without being asked for arrives as it is.
        case codedBodies
        /// Fields of the same name stay apart.
        case separateFields
        /// Heads of status 1xx are passed over.
        case informationalHeads
        /// Errors tell a broken message from a connection that was closed or refused.
        case exactErrors
        /// A request with a method that is not idempotent is sent once.
        case sendsOnce
        /// Authorities, client certificates and proxies of the configuration.
        case configuredTrust, configuredProxies
        /// Timings tell of the connection.
        case detailedTimings
    }

    var testDescription: String
    var capabilities: Set<Capability>
    private var engine: @Sendable (HTTPTransport.Configuration) -> HTTPTransport

    static let libcurl = TestedTransport(testDescription: "libcurl", capabilities: Set(Capability.allCases)) {
        HTTPTransport(configuration: $0)
    }
    /// As swift-corelibs-foundation has it. Apple's does more.
    static let urlSession = TestedTransport(testDescription: "URLSession", capabilities: []) {
        HTTPTransport(configuration: $0, engine: URLSessionEngine($0))
    }

    /// All of them, or the one that the variable `SLUICE_TESTED_TRANSPORT` names.
    static let all = [libcurl, urlSession].filter { only == nil || only == $0.testDescription }

    private static let only = ProcessInfo.processInfo.environment["SLUICE_TESTED_TRANSPORT"]

    /// Those that have these capabilities.
    static func having(_ needed: Capability...) -> [TestedTransport] {
        all.filter { $0.capabilities.isSuperset(of: needed) }
    }

    func has(_ capability: Capability) -> Bool { capabilities.contains(capability) }

    /// A transport of this kind, which is shut down after `body`.
    func withTransport<Result>(
        _ configuration: HTTPTransport.Configuration, _ body: (HTTPTransport) async throws -> Result
    ) async throws -> Result {
        try await engine(configuration).whileOpen(body)
    }

    /// A transport of this kind and an origin that answers with a closure. Its timeouts are long, because the machine may be busy.
    func exchange(
        stallTimeout: Duration = .seconds(600), bufferSize: Int = 256 * 1024,
        _ handler: @escaping LoopbackOrigin.Handler,
        _ test: @Sendable (HTTPTransport, LoopbackOrigin) async throws -> Void
    ) async throws {
        try await LoopbackOrigin.serve(handler) { origin in
            let configuration = HTTPTransport.Configuration(
                connectTimeout: .seconds(600), stallTimeout: stallTimeout, bufferSize: bufferSize, proxy: .none)
            try await withTransport(configuration) { try await test($0, origin) }
        }
    }
}
