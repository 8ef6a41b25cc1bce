import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceCache
import SluiceCommands
import SluiceFiles
import SluiceHTTP
import TestSupport

/// A directory with a cache, and a server whose responses it has. Several commands use them, one after another.
struct CacheScene: Sendable {
    struct Ended: Sendable {
        var status: ExitStatus
        var output: String
        var error: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    let directory: URL
    let origin: LoopbackOrigin
    /// The requests that the server has received.
    let requests: Recorder<OriginRequest>

    static func run(
        _ answer: @escaping @Sendable (OriginRequest) async -> OriginResponse = { _ in fresh(Scenario.body) },
        _ body: @escaping @Sendable (CacheScene) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let requests = Recorder<OriginRequest>()
            try await LoopbackOrigin.serve {
                requests.note($0)
                return await answer($0)
            } during: { origin in
                try await body(CacheScene(directory: directory, origin: origin, requests: requests))
            }
        }
    }

    /// A response that is fresh for an hour.
    static func fresh(_ body: [UInt8], _ fields: HTTPFields = [:]) -> OriginResponse {
        var fields = fields
        fields[.cacheControl] = "max-age=3600"
        return OriginResponse(headerFields: fields, body: body)
    }

    /// The default directory of the cache.
    var cache: URL { directory.appending(path: "caches/sluice", directoryHint: .isDirectory) }

    /// The limit of the cache, if it isn't the usual one.
    var limit: Int64?

    /// Runs the arguments, in which `{dir}` and `{origin}` are replaced.
    func sluice(_ arguments: String...) async -> Ended { await sluice(arguments) }

    func sluice(_ arguments: [String]) async -> Ended {
        let recorded = RecordedConsole()
        var console = recorded.console
        console.cacheDirectory = cache
        if let limit { console.cacheLimit = limit }
        let filled = arguments.map {
            $0.replacing("{origin}", with: "http://127.0.0.1:\(origin.port)").replacing("{dir}", with: directory.path)
        }
        let status = await SluiceProgram.run(filled, console: console)
        return Ended(status: status, output: recorded.output, error: recorded.error)
    }

    /// Opens the cache in this process, as another program would.
    func withCache<R>(_ body: (ResourceCache) async throws -> R) async throws -> R {
        try await ResourceCache.withCache(directory: cache, transport: ScriptedTransport([:]), body)
    }

    /// Stores responses in this order.
    func store(_ urls: [String], size: Int = 1000, freshFor lifetime: Duration = .seconds(3600)) async throws {
        try await withCache { cache in
            for text in urls {
                try await cache.store(Data(repeating: 7, count: size), for: URL(string: text)!, freshFor: lifetime)
            }
        }
    }

    /// A downloaded file.
    func file(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: directory.appending(path: path))) }

    /// The files of bodies in the cache.
    var bodies: [URL] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: cache.path)) ?? []
        return names.filter { $0.contains("-") && $0.contains("/") }.sorted().map { cache.appending(path: $0) }
    }
}
