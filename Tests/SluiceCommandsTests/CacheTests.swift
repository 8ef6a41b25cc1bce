import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceCache
import SluiceCommands
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@Suite struct `sluice cache` {
    private struct Listed: Decodable {
        var url: String
        var status: Int
        var size: Int
        var fresh: Bool
        var freshFor: Int64?
        var variantFields: [String]
    }

    private func listed(_ run: CacheScene.Ended) throws -> [Listed] {
        try run.lines.map { try JSONDecoder().decode(Listed.self, from: Data($0.utf8)) }
    }

    @Test(arguments: [
        ["stats"], ["list"], ["verify"], ["verify", "--repair"], ["trim", "--size", "0"], ["remove", "--all"],
    ])
    func `without a cache, nothing is created or changed`(arguments: [String]) async throws {
        try await CacheScene.run { (scene) async throws in
            let manager = FileManager.default
            let file = scene.directory.appending(path: "file")
            try Data("x".utf8).write(to: file)
            let foreign = scene.directory.appending(path: "foreign")
            try manager.createDirectory(at: foreign, withIntermediateDirectories: false)
            let garbage = Data(String(repeating: "no database ", count: 100).utf8)
            try garbage.write(to: foreign.appending(path: "index.db"))
            let before = try manager.subpathsOfDirectory(atPath: scene.directory.path).sorted()
            for (directory, mention) in [
                (nil, "No cache found."), ("{dir}/none", "No cache found."), ("{dir}", "has no index.db"),
                ("{dir}/file", "isn't a directory"), ("{dir}/foreign", "file is not a database"),
                ("", "Name a directory"),
            ] {
                let option = directory.map { ["--directory", $0] } ?? []
                let run = await scene.sluice(["cache"] + arguments + option)
                #expect(run.status == (directory == "" ? .usage : .localFile), "\(directory ?? "default")")
                #expect(run.error.hasPrefix("sluice: ") && run.error.contains(mention), "\(run.error)")
                #expect(run.error.split(separator: "\n").count == 1 && run.output.isEmpty)
            }
            #expect(try manager.subpathsOfDirectory(atPath: scene.directory.path).sorted() == before)
            #expect(try Data(contentsOf: foreign.appending(path: "index.db")) == garbage)
        }
    }

    @Test func `list shows the most recently used first, and no secrets`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store(
                ["http://a.example/old", "http://b.example/new?token=secret"], freshFor: .seconds(5400))
            try await scene.store(["http://a.example/stale"], freshFor: .zero)
            let all = await scene.sluice("cache", "list")
            #expect(all.status == .success && all.error.isEmpty)
            #expect(all.lines.count == 4 && all.lines[0].hasPrefix("STATUS"))
            #expect(all.lines[1].hasSuffix("http://a.example/stale") && all.lines[1].contains(" stale "))
            #expect(all.lines[2].hasSuffix("http://b.example/new?…") && all.lines[2].contains("1.0 kB"))
            #expect(all.lines[3].hasSuffix("http://a.example/old") && all.lines[3].contains("  1 h  "))
            #expect(!all.output.contains("secret"))

            let json = try listed(await scene.sluice("cache", "list", "--json"))
            #expect(json.map(\.url) == ["http://a.example/stale", "http://b.example/new?…", "http://a.example/old"])
            #expect(json.map(\.fresh) == [false, true, true] && json[0].freshFor ?? 0 <= 0)
        }
    }

    @Test(arguments: [
        (["http://a.example/"], ["3", "2", "1"]), (["http://a.example/1"], ["1"]), (["*/2"], ["2"]),
        (["--stale"], ["3"]), (["--stale", "http://a.example/1"], []), (["http://a.example/1?"], []),
        (["http://a.example/[1]"], []), (["*[1-3]"], []),
    ])
    func `list shows only matching responses`(arguments: [String], expected: [String]) async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store(["http://a.example/1", "http://a.example/2"])
            try await scene.store(["http://a.example/3"], freshFor: .zero)
            let run = await scene.sluice(["cache", "list", "--json"] + arguments)
            #expect(try listed(run).map { String($0.url.suffix(1)) } == expected)
            let text = await scene.sluice(["cache", "list"] + arguments)
            #expect(text.status == .success)
            #expect(text.error.contains("No response in the cache matches.") == expected.isEmpty)
        }
    }

    @Test func `list shows the fields that a response depends on`() async throws {
        try await CacheScene.run { _ in
            CacheScene.fresh(Scenario.body, [.vary: "Accept-Language, Cookie"])
        } during: { (scene) async throws in
            #expect(await scene.sluice("get", "--cache", "-q", "-d", "{dir}/1", "{origin}/a").status == .success)
            #expect(await scene.sluice("cache", "list").output.hasSuffix("/a  (accept-language, cookie)\n"))
            #expect(
                try listed(await scene.sluice("cache", "list", "--json"))[0].variantFields == [
                    "accept-language", "cookie",
                ])
        }
    }

    @Test func `list shows each entry of a large cache once, while the cache is open elsewhere`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.withCache { cache in
                for number in 0..<1100 {
                    try await cache.store(Data(), for: URL(string: "http://a.example/\(number)")!)
                }
                let run = await scene.sluice("cache", "list", "--json")
                #expect(try listed(run).map(\.url) == (0..<1100).reversed().map { "http://a.example/\($0)" })
            }
        }
    }

    @Test func `stats counts entries, fresh entries and bytes`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store(["http://a.example/1", "http://a.example/2"])
            try await scene.store(["http://a.example/3"], freshFor: .zero)
            let run = await scene.sluice("cache", "stats")
            #expect(run.status == .success)
            #expect(run.output.contains("Entries    3 (2 fresh, 1 stale)\nSize       4.5 kB, at most 268.4 MB, and "))
            #expect(run.output.hasPrefix("Directory  \(scene.cache.path)\n") && run.output.contains("Last use   "))
            struct Stats: Decodable {
                var entries, fresh, stale: Int; var bytes: Int64; var limit: Int64?; var newestUse: String?
            }
            let json = await scene.sluice("cache", "stats", "--json", "--directory", scene.cache.path)
            let stats = try JSONDecoder().decode(Stats.self, from: Data(json.output.utf8))
            #expect(stats.entries == 3 && stats.fresh == 2 && stats.stale == 1)
            #expect(stats.bytes == 3 * 1512 && stats.limit == 256 << 20 && stats.newestUse != nil)
            try await scene.withCache { try await $0.removeAll() }
            #expect(!(await scene.sluice("cache", "stats").output.contains("Last use")))
        }
    }

    @Test func `verify finds and repairs damage`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store((1...4).map { "http://a.example/\($0)?secret" }, size: 3000)
            let sound = await scene.sluice("cache", "verify")
            #expect(sound.status == .success && sound.output == "Checked 4 responses, 12.0 kB: no damage.\n")

            var bytes = try Data(contentsOf: scene.bodies[0])
            bytes[500] ^= 1
            try bytes.write(to: scene.bodies[0])
            let stray = scene.bodies[1].deletingLastPathComponent()
                .appending(path: String(repeating: "ab", count: 32) + "-77")
            try Data("x".utf8).write(to: stray)
            try FileManager.default.removeItem(at: scene.bodies.last { $0 != stray && $0 != scene.bodies[0] }!)

            let found = await scene.sluice("cache", "verify")
            #expect(found.status == .content)
            #expect(found.lines.count == 4 && found.output.contains("\(stray.path): stray file\n"), "\(found.output)")
            #expect(
                found.output.matches(of: /http:\/\/a\.example\/\d\?… \([0-9a-f]{64}-\d\): damaged file\n/).count == 2)
            #expect(
                found.output.hasSuffix(
                    "Checked 4 responses, 6.0 kB: 3 problems. Pass --repair to remove damaged responses and stray files.\n"
                ))

            let json = await scene.sluice("cache", "verify", "--repair", "--json")
            #expect(json.status == .content && json.lines.count == 4)
            #expect(
                json.lines.count { $0.contains("\"problem\":\"damaged file\"") && $0.contains("\"repaired\":true") }
                    == 2)
            #expect(json.lines.last == #"{"bytes":6000,"entries":4,"problems":3,"repaired":3}"#)
            #expect(!(found.output + json.output).contains("secret"))
            let repaired = await scene.sluice("cache", "verify")
            #expect(repaired.status == .success && repaired.output == "Checked 2 responses, 6.0 kB: no damage.\n")
        }
    }

    @Test func `trim removes what its options select`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store((1...4).map { "http://a.example/\($0)" })
            try await scene.store(["http://a.example/5"], freshFor: .zero)
            let stale = await scene.sluice("cache", "trim", "--stale", "--older-than", "1h")
            #expect(stale.output == "Removed 1 response, 4 with 6.0 kB left.\n")
            let size = await scene.sluice("cache", "trim", "--size", "4.6k", "--json")
            #expect(size.output == #"{"bytes":4536,"entries":3,"removed":1}"# + "\n")
            #expect(try listed(await scene.sluice("cache", "list", "--json")).map(\.url).last == "http://a.example/2")
            let old = await scene.sluice("cache", "trim", "--older-than", "0s")
            #expect(old.output == "Removed 3 responses, none is left.\n" && scene.bodies.isEmpty)
            #expect(await scene.sluice("cache", "trim").status == .usage)
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("500", 500), ("2k", 2000), ("1.5MB", 1_500_000), ("2Mi", 2 << 20), ("1GiB", 1 << 30),
            ("3 tb", 3_000_000_000_000),
            ("", nil), ("M", nil), ("-1", nil), ("1x", nil), ("1e9", nil), ("9999999T", nil), ("0x10", nil),
        ] as [(String, Int64?)])
    func `a size may have a unit, and an invalid size is refused`(text: String, expected: Int64?) async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store(["http://a.example/1"], size: 100)
            let run = await scene.sluice("cache", "trim", "--size=\(text)")
            #expect(run.status == (expected == nil ? .usage : .success), "\(run.error)")
            if let expected { #expect(run.output.hasPrefix("Removed \(expected < 612 ? 1 : 0) response")) }
        }
    }

    @Test(arguments: ["10", "d", "1y", "-1d", "1.5h", "99999999999s"])
    func `an invalid time is refused`(text: String) async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store([])
            let run = await scene.sluice("cache", "trim", "--older-than=\(text)")
            #expect(run.status == .usage && run.error.contains("'\(text)' is invalid for '--older-than <time>'"))
        }
    }

    @Test func `remove deletes URLs, patterns or everything`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store([
                "http://a.example/1?x", "http://a.example/2", "http://b.example/3", "http://b.example/4",
                "http://c.example/5",
            ])
            let some = await scene.sluice(
                "cache", "remove", "http://a.example/1?x", "http://a.example/1", "http://b.example/*")
            #expect(some.status == .other && some.output == "Removed 3 responses, 2 with 3.0 kB left.\n")
            #expect(
                some.error
                    == "sluice: http://a.example/1: The cache has no such response. Look it up with 'sluice cache list'.\n"
            )
            #expect(await scene.sluice("cache", "remove", "--all", "http://a.example/2").status == .usage)
            #expect(await scene.sluice("cache", "remove").status == .usage)
            #expect(await scene.sluice("cache", "remove", "a.example/2").status == .usage)
            let all = await scene.sluice("cache", "remove", "--all")
            #expect(all.status == .success && all.output == "Removed 2 responses, none is left.\n")
            #expect(scene.bodies.isEmpty)
        }
    }
}

@Suite struct `sluice get --cache` {
    @Test func `writes a fresh response without a request`() async throws {
        try await CacheScene.run { (scene) async throws in
            let first = await scene.sluice("get", "--cache", "-d", "{dir}/1", "{origin}/a", "{origin}/b")
            #expect(first.status == .success && first.error.contains(", 0 from the cache."))
            let second = await scene.sluice("get", "--cache", "-d", "{dir}/2", "{origin}/a", "{origin}/b", "{origin}/c")
            #expect(second.status == .success && second.error.contains(", 2 from the cache."), "\(second.error)")
            #expect(scene.requests.values.map(\.target).sorted() == ["/a", "/b", "/c"])
            for name in ["1/a", "1/b", "2/a", "2/b", "2/c"] { #expect(try scene.file(name) == Scenario.body) }
            let third = await scene.sluice(
                "get", "--cache", "--progress", "json", "-d", "{dir}/3", "{origin}/a")
            #expect(third.lines.last?.contains("\"cached\":1") == true)
            let uncached = await scene.sluice("get", "-d", "{dir}/4", "{origin}/a")
            #expect(scene.requests.values.count == 4 && !uncached.error.contains("from the cache"))
        }
    }

    @Test func `revalidates a stale response and fetches a changed one`() async throws {
        try await CacheScene.run { request in
            // The third request is for the new version.
            let (tag, body) = request.attempt < 3 ? ("\"1\"", "first") : ("\"2\"", "second")
            let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: tag]
            return request.headerFields[.ifNoneMatch] == tag
                ? OriginResponse(status: 304, headerFields: fields)
                : OriginResponse(headerFields: fields, body: Array(body.utf8))
        } during: { (scene) async throws in
            for (number, cached, body) in [(1, 0, "first"), (2, 1, "first"), (3, 0, "second")] {
                let run = await scene.sluice("get", "--cache", "-d", "{dir}/\(number)", "{origin}/a")
                #expect(run.status == .success && run.error.contains(", \(cached) from the cache."), "\(run.error)")
                #expect(try scene.file("\(number)/a") == Array(body.utf8))
            }
            #expect(scene.requests.values.map { $0.headerFields[.ifNoneMatch] } == [nil, "\"1\"", "\"1\""])
        }
    }

    @Test func `revalidates in the background with stale-while-revalidate, and waits for it at the end`() async throws {
        try await CacheScene.run { request in
            let fields: HTTPFields = [.cacheControl: "max-age=0, stale-while-revalidate=3600"]
            return OriginResponse(headerFields: fields, body: Array((request.attempt < 2 ? "first" : "second").utf8))
        } during: { (scene) async throws in
            for (number, body) in [(1, "first"), (2, "first"), (3, "second")] {
                let run = await scene.sluice("get", "--cache", "-d", "{dir}/\(number)", "{origin}/a")
                #expect(run.status == .success, "\(run.error)")
                #expect(try scene.file("\(number)/a") == Array(body.utf8))
            }
            #expect(scene.requests.values.count == 3)
        }
    }

    private static let song = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }

    @Test func `continues a partial file with bytes from the cache`() async throws {
        try await CacheScene.run { request in
            let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=3600"]
            var response = OriginResponse(headerFields: fields, body: Self.song)
            if request.attempt == 2 { response.steps = [.send(Array(Self.song[..<400_000])), .hangUp] }
            return response
        } during: { (scene) async throws in
            #expect(await scene.sluice("get", "--cache", "-d", "{dir}/1", "{origin}/a").status == .success)
            let broken = await scene.sluice("get", "--retries", "0", "-d", "{dir}/2", "{origin}/a")
            #expect(broken.status == .network)
            #expect(try scene.file("2/a.sluice.part").count > 0)
            let resumed = await scene.sluice("get", "--cache", "-d", "{dir}/2", "{origin}/a")
            #expect(resumed.status == .success && resumed.error.contains(", 1 from the cache."), "\(resumed.error)")
            #expect(scene.requests.values.count == 2)
            #expect(try scene.file("2/a") == Self.song)
        }
    }

    @Test func `requests only the rest of a response that was cut off`() async throws {
        try await CacheScene.run { request in
            let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=3600"]
            guard let range = request.headerFields[.range] else {
                var response = OriginResponse(headerFields: fields, body: Self.song)
                response.steps = [.send(Array(Self.song[..<400_000])), .hangUp]
                return response
            }
            let start = Int(range.dropFirst("bytes=".count).prefix { $0.isNumber }) ?? 0
            var partial = fields
            partial[.contentRange] = "bytes \(start)-\(Self.song.count - 1)/\(Self.song.count)"
            return OriginResponse(status: 206, headerFields: partial, body: Array(Self.song[start...]))
        } during: { (scene) async throws in
            // The queue retries and the cache doesn't, so there are two requests.
            let run = await scene.sluice("get", "--cache", "--progress", "lines", "-d", "{dir}/1", "{origin}/a")
            #expect(run.status == .success && run.error.contains("1 retry."), "\(run.error)")
            #expect(scene.requests.values.count == 2)
            #expect(scene.requests.values.last?.headerFields[.range] != nil)
            #expect(try scene.file("1/a") == Self.song)
        }
    }

    @Test func `retries a transient error as often as requested, and no more`() async throws {
        try await CacheScene.run { _ in
            OriginResponse(status: 503, headerFields: [.retryAfter: "0"])
        } during: { (scene) async throws in
            let run = await scene.sluice("get", "--cache", "-q", "--retries", "2", "-d", "{dir}/1", "{origin}/a")
            #expect(run.status == .http && scene.requests.values.count == 3)
        }
    }

    @Test func `writes a file that is too large for the cache but doesn't keep it`() async throws {
        let large = [UInt8](repeating: 5, count: 600_000)
        try await CacheScene.run { _ in
            CacheScene.fresh(large)
        } during: { (scene) async throws in
            var scene = scene
            scene.limit = 5_999_990
            let run = await scene.sluice("get", "--cache", "-d", "{dir}/1", "{origin}/a")
            #expect(
                run.status == .success && run.error.contains("600.0 kB") && run.error.contains(", 0 from the cache."))
            #expect(try scene.file("1/a") == large)
            #expect(scene.bodies.isEmpty)
            #expect(scene.requests.values.count == 1)
            #expect(await scene.sluice("cache", "list").error.contains("The cache is empty."))
        }
    }

    @Test func `downloads even if the cache can't be written, and reports that`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store([])
            // Files take the names of the directories for bodies.
            for number in 0..<256 {
                let name = (number < 16 ? "0" : "") + String(number, radix: 16)
                try Data().write(to: scene.cache.appending(path: name))
            }
            let run = await scene.sluice("get", "--cache", "-d", "{dir}/1", "{origin}/a")
            #expect(run.status == .success)
            #expect(try scene.file("1/a") == Scenario.body)
            #expect(run.error.contains("sluice: --cache: The cache in '\(scene.cache.path)' couldn't be used 1 time: "))
        }
    }

    @Test func `uses another directory, unless it contains other files`() async throws {
        try await CacheScene.run { (scene) async throws in
            for number in 1...2 {
                let run = await scene.sluice(
                    "get", "--cache-directory", "{dir}/other", "-d", "{dir}/\(number)", "{origin}/a")
                #expect(run.status == .success && run.error.contains(", \(number - 1) from the cache."))
            }
            let run = await scene.sluice("get", "--cache-directory", "{dir}/1", "-d", "{dir}/3", "{origin}/a")
            #expect(run.status == .localFile)
            #expect(
                run.error.contains("--cache-directory \(scene.directory.path)/1: The directory contains other files"))
            #expect(!FileManager.default.fileExists(atPath: scene.cache.path))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: scene.directory.appending(path: "1").path) == ["a"])
        }
    }

    @Test func `fails if the index of the cache is damaged`() async throws {
        try await CacheScene.run { (scene) async throws in
            try FileManager.default.createDirectory(at: scene.cache, withIntermediateDirectories: true)
            let index = scene.cache.appending(path: "index.db")
            let garbage = Data(String(repeating: "no database ", count: 100).utf8)
            try garbage.write(to: index)
            let run = await scene.sluice("get", "--cache", "-d", "{dir}/1", "{origin}/a")
            #expect(run.status == .localFile && run.error.contains(index.path), "\(run.error)")
            #expect(scene.requests.values.isEmpty)
            #expect(try Data(contentsOf: index) == garbage)
        }
    }
}

// MARK: - The scene

/// A directory with a cache, and a server that its responses come from. Several commands use them, one after another.
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
        during body: @escaping @Sendable (CacheScene) async throws -> Void
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

    /// The limit of the cache, if it isn't the default.
    var limit: Int64?

    /// Replaces `{dir}` and `{origin}` in the arguments, and runs them.
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

    /// The files with bodies in the cache.
    var bodies: [URL] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: cache.path)) ?? []
        return names.filter { $0.contains("-") && $0.contains("/") }.sorted().map { cache.appending(path: $0) }
    }
}
