import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceCommands
import TestSupport
import Testing

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

    @Test func `validates a stale response, and fetches a changed one`() async throws {
        try await CacheScene.run { request in
            // The third request is for the new version.
            let (tag, body) = request.attempt < 3 ? ("\"1\"", "first") : ("\"2\"", "second")
            let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: tag]
            return request.headerFields[.ifNoneMatch] == tag
                ? OriginResponse(status: 304, headerFields: fields)
                : OriginResponse(headerFields: fields, body: Array(body.utf8))
        } _: { (scene) async throws in
            for (number, cached, body) in [(1, 0, "first"), (2, 1, "first"), (3, 0, "second")] {
                let run = await scene.sluice("get", "--cache", "-d", "{dir}/\(number)", "{origin}/a")
                #expect(run.status == .success && run.error.contains(", \(cached) from the cache."), "\(run.error)")
                #expect(try scene.file("\(number)/a") == Array(body.utf8))
            }
            #expect(scene.requests.values.map { $0.headerFields[.ifNoneMatch] } == [nil, "\"1\"", "\"1\""])
        }
    }

    @Test func `validates in the background what may be stale meanwhile, and waits for that at the end`() async throws {
        try await CacheScene.run { request in
            let fields: HTTPFields = [.cacheControl: "max-age=0, stale-while-revalidate=3600"]
            return OriginResponse(headerFields: fields, body: Array((request.attempt < 2 ? "first" : "second").utf8))
        } _: { (scene) async throws in
            for (number, body) in [(1, "first"), (2, "first"), (3, "second")] {
                let run = await scene.sluice("get", "--cache", "-d", "{dir}/\(number)", "{origin}/a")
                #expect(run.status == .success, "\(run.error)")
                #expect(try scene.file("\(number)/a") == Array(body.utf8))
            }
            #expect(scene.requests.values.count == 3)
        }
    }

    private static let song = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }

    @Test func `continues a partial file with the bytes of the cache`() async throws {
        try await CacheScene.run { request in
            let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=3600"]
            var response = OriginResponse(headerFields: fields, body: Self.song)
            if request.attempt == 2 { response.steps = [.send(Array(Self.song[..<400_000])), .hangUp] }
            return response
        } _: { (scene) async throws in
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

    @Test func `asks only for the rest of a response that was cut off`() async throws {
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
        } _: { (scene) async throws in
            // The queue tries again, the cache doesn't: two requests.
            let run = await scene.sluice("get", "--cache", "--progress", "lines", "-d", "{dir}/1", "{origin}/a")
            #expect(run.status == .success && run.error.contains("1 retry."), "\(run.error)")
            #expect(scene.requests.values.count == 2)
            #expect(scene.requests.values.last?.headerFields[.range] != nil)
            #expect(try scene.file("1/a") == Self.song)
        }
    }

    @Test func `tries a transient error as often as it says, and not more`() async throws {
        try await CacheScene.run { _ in
            OriginResponse(status: 503, headerFields: [.retryAfter: "0"])
        } _: { (scene) async throws in
            let run = await scene.sluice("get", "--cache", "-q", "--retries", "2", "-d", "{dir}/1", "{origin}/a")
            #expect(run.status == .http && scene.requests.values.count == 3)
        }
    }

    @Test func `writes a file that is too large for the cache, and doesn't keep it`() async throws {
        let large = [UInt8](repeating: 5, count: 600_000)
        try await CacheScene.run { _ in
            CacheScene.fresh(large)
        } _: { (scene) async throws in
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

    @Test func `downloads even if the cache can't be written, and says so`() async throws {
        try await CacheScene.run { (scene) async throws in
            try await scene.store([])
            // Files in the places of the directories for bodies.
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

    @Test func `uses another directory, but not one with other files`() async throws {
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
