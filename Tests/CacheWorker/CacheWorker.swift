import Foundation
import HTTPTypes
import SluiceCache
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP

/// Uses a cache like any program, and checks every body and the size limit.
///
///     CacheWorker --directory DIR --limit BYTES --urls COUNT --requests COUNT --seed NUMBER
///
/// Requests `http://example.test/0` and so on, whose bodies come from ``body(of:)``. Some requests remove or replace responses. Prints a
/// dot after each request, so that another process can count them. Exits with 1 and a line on standard error if a body is wrong, the cache
/// exceeds its limit, or its disk stage has failed.
@main
struct CacheWorker {
    struct Wrong: Error, CustomStringConvertible {
        var description: String
    }

    static func main() async throws {
        var values: [String: String] = [:]
        var rest = CommandLine.arguments.dropFirst()
        while let name = rest.popFirst(), let value = rest.popFirst() { values[name] = value }
        func number(_ name: String) throws -> Int {
            guard let number = values[name].flatMap({ Int($0) }) else {
                throw Wrong(description: "\(name) is missing.")
            }
            return number
        }
        guard let path = values["--directory"] else { throw Wrong(description: "--directory is missing.") }
        let directory = URL(filePath: path, directoryHint: .isDirectory)
        let (limit, urls, seed) = (try number("--limit"), try number("--urls"), try number("--seed"))
        let requests = try number("--requests")
        // Without a memory stage, so that the disk answers.
        let configuration = ResourceCache.Configuration(
            maximumMemorySize: 0, maximumDiskSize: Int64(limit), maximumDiskEntrySize: Int64(limit / 4))
        do {
            try await ResourceCache.withCache(
                directory: directory, configuration: configuration, transport: Bodies()
            ) { cache in
                try await CacheDirectory.withDirectory(at: directory) { inspected in
                    try await (0..<requests).concurrentForEach(concurrency: 4) { request in
                        try await run(seed &* 1_000_003 &+ request, urls, cache)
                        let used = try await inspected.size().bytes
                        guard used <= limit else { throw Wrong(description: "\(used) bytes are used of \(limit).") }
                        FileHandle.standardOutput.write(Data(".".utf8))
                    }
                }
                let statistics = cache.statistics
                guard statistics.damaged == 0, statistics.diskFailures == 0 else {
                    throw Wrong(description: "\(statistics)")
                }
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ number: Int, _ urls: Int, _ cache: ResourceCache) async throws {
        // SplitMix64, like SeededRandom.
        var mixed = UInt64(bitPattern: Int64(number)) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed ^= mixed &>> 27
        let url = URL(string: "http://example.test/\(Int(mixed % UInt64(urls)))")!
        switch mixed &>> 32 % 16 {
        case 0: try await cache.remove(url)
        case 1: try await cache.store(body(of: url), for: url)
        default:
            let data = try await cache.data(for: url)
            guard data == body(of: url) else { throw Wrong(description: "\(url): The body is wrong.") }
        }
    }

    /// Up to 4,000 bytes, which depend on the URL.
    static func body(of url: URL) -> Data {
        let number = Int(url.lastPathComponent) ?? 0
        return Data((0..<(number &* 997 % 4000)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7 ^ $0 >> 8) })
    }
}

/// A transport that responds with the bodies.
private struct Bodies: Transport {
    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let body = CacheWorker.body(of: request.url)
        return try await ScriptedTransport([
            request.url: [
                .response(
                    headerFields: [.cacheControl: "max-age=3600", .contentLength: "\(body.count)"],
                    body: body.isEmpty ? [] : [body])
            ]
        ]).open(request)
    }
}
