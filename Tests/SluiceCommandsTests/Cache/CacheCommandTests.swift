import Foundation
import HTTPTypes
import SluiceCache
import SluiceCommands
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
    func `creates and changes nothing where there is no cache`(arguments: [String]) async throws {
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

    @Test func `list shows the latest used first, and no secrets`() async throws {
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
    func `list has only what matches`(arguments: [String], expected: [String]) async throws {
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

    @Test func `list names the fields that a response depends on`() async throws {
        try await CacheScene.run { _ in
            CacheScene.fresh(Scenario.body, [.vary: "Accept-Language, Cookie"])
        } _: { (scene) async throws in
            #expect(await scene.sluice("get", "--cache", "-q", "-d", "{dir}/1", "{origin}/a").status == .success)
            #expect(await scene.sluice("cache", "list").output.hasSuffix("/a  (accept-language, cookie)\n"))
            #expect(
                try listed(await scene.sluice("cache", "list", "--json"))[0].variantFields == [
                    "accept-language", "cookie",
                ])
        }
    }

    @Test func `list has every entry of a large cache once, while the cache is open elsewhere`() async throws {
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

    @Test func `stats counts entries, fresh ones and bytes`() async throws {
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

    @Test func `verify finds damage, and repairs it`() async throws {
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

    @Test func `trim removes what its options say`() async throws {
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
    func `a size has a unit`(text: String, expected: Int64?) async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store(["http://a.example/1"], size: 100)
            let run = await scene.sluice("cache", "trim", "--size=\(text)")
            #expect(run.status == (expected == nil ? .usage : .success), "\(run.error)")
            if let expected { #expect(run.output.hasPrefix("Removed \(expected < 612 ? 1 : 0) response")) }
        }
    }

    @Test(arguments: ["10", "d", "1y", "-1d", "1.5h", "99999999999s"])
    func `a time has a unit`(text: String) async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store([])
            let run = await scene.sluice("cache", "trim", "--older-than=\(text)")
            #expect(run.status == .usage && run.error.contains("'\(text)' is invalid for '--older-than <time>'"))
        }
    }

    @Test func `remove removes URLs, patterns or all`() async throws {
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
