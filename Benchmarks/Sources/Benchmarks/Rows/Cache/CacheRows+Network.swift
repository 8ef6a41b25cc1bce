import Foundation
import HTTPTypes
import SluiceCache
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import Synchronization

/// Requests that the cache can't answer.
extension CacheRows {
    /// The peer fetches the same files with the same transport, and stores nothing. Each round uses new URLs, and includes storing: the
    /// cache is opened, and shut down after everything is on disk.
    static func misses(_ size: Int) -> Row {
        Row(
            "cache/1,000 misses of \(size >> 10) KiB, 10 concurrent", .microseconds, against: "HTTPTransport",
            figure: .atMost(1.5)
        ) { stage, rounds in
            try await stage.withDirectory { directory in
                let count = stage.count(1_000, quick: 250)
                let root = directory.appending(path: "root")
                try await FileIO.shared.createDirectory(at: root)
                for number in 0..<count {
                    try await Data(repeating: UInt8(truncatingIfNeeded: number), count: size).asyncWrite(
                        to: root.appending(path: "\(number)"), options: .init(durability: .none))
                }
                try await Nginx.serve(root, work: directory, childUsage: stage.childUsage) { port in
                    var round = 0
                    func urls() -> [URL] {
                        round += 1
                        return (0..<count).map { URL(string: "http://127.0.0.1:\(port)/\($0)?\(round)")! }
                    }
                    try await HTTPTransport.withTransport { transport in
                        try await rounds(
                            {
                                let urls = urls()
                                return try await timed(count, bytes: count * size, expecting: count * size) {
                                    try await ResourceCache.withCache(
                                        directory: directory.appending(path: "cache"),
                                        configuration: .init(concurrency: 10, concurrencyPerHost: 10),
                                        transport: transport
                                    ) { cache in
                                        let sum = try await concurrently(urls) { try await cache.data(for: $0) }
                                        try check(cache.statistics.fetched, count)
                                        try check(cache.statistics.diskFailures, 0)
                                        return sum
                                    }
                                }
                            },
                            {
                                let urls = urls()
                                return try await timed(count, bytes: count * size, expecting: count * size) {
                                    try await concurrently(urls) { url in
                                        try await transport.open(TransportRequest(url)).body.collect(upTo: 1 << 20)
                                    }
                                }
                            })
                    }
                }
            }
        }
    }

    /// Calls `fetch` for each URL, ten at a time, and returns the sum of the bytes.
    private static func concurrently(
        _ urls: [URL], _ fetch: @escaping @Sendable (URL) async throws -> Data
    ) async throws -> Int {
        let waiting = AsyncQueue<URL>()
        for url in urls { waiting.enqueue(url) }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    var bytes = 0
                    while let url = waiting.tryDequeue() { bytes += try await fetch(url).count }
                    return bytes
                }
            }
            return try await group.reduce(0, +)
        }
    }

    /// The server answers when all tasks have begun.
    static var herd: Row {
        Row("cache/10,000 tasks for one URL", .microseconds, against: "10,000 tasks that await one task") {
            stage, rounds in
            let (count, size) = (10_000, 4 << 10)
            try await stage.withDirectory { directory in
                try await rounds(
                    {
                        let directory = directory.appending(path: "cache")
                        let transport = HerdTransport(count, Data(count: size))
                        let sample = try await ResourceCache.withCache(directory: directory, transport: transport) {
                            cache in
                            let url = URL(string: "https://example.com/picture.jpeg")!
                            return try await timed(count, expecting: count * size) {
                                try await sum(count) {
                                    transport.arrivals.note()
                                    return try await cache.data(for: url).count
                                }
                            }
                        }
                        try check(transport.requests.load(ordering: .relaxed), 1)
                        try await FileIO.shared.removeTree(directory)
                        return sample
                    },
                    {
                        let arrivals = Arrivals()
                        return try await timed(count, expecting: count * size) {
                            let task = Task {
                                await arrivals.wait(for: count)
                                return Data(count: size)
                            }
                            return try await sum(count) {
                                arrivals.note()
                                return await task.value.count
                            }
                        }
                    })
            }
        }
    }

    private static func sum(_ count: Int, _ body: @escaping @Sendable () async throws -> Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await body() } }
            return try await group.reduce(0, &+)
        }
    }
}

/// Answers when all tasks have arrived.
private final class HerdTransport: Transport {
    let arrivals = Arrivals()
    let requests = Atomic(0)
    private let count: Int
    private let body: Data

    init(_ count: Int, _ body: Data) {
        self.count = count
        self.body = body
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        requests.add(1, ordering: .relaxed)
        await arrivals.wait(for: count)
        let answer = ScriptedTransport.Answer.response(
            headerFields: [.cacheControl: "max-age=3600", .contentLength: "\(body.count)"], body: [body])
        return try await ScriptedTransport([request.url: [answer]]).open(request)
    }
}
