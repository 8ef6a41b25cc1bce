import Foundation
import LoopbackOrigin
import SluiceDownloads
import Testing

@testable import SluiceCommands

@Suite struct `sluice queue` {
    private typealias Member = QueueScene.Listing.Member

    @Test(arguments: QueueScene.Place.usable)
    func `adds downloads, runs them, and lists them before and after`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { request in
            request.target == "/gone" ? OriginResponse(status: 404) : OriginResponse(body: Scenario.body)
        } during: { scene in
            // Given
            let added = await scene.add(["/a", "/b", "/gone"], "--user", "ann", "--batch", "top 3", "--priority", "7")
            #expect(added.status == .success && added.output == "Added 3 downloads.\n" && added.error == "")
            let before = try await scene.listing()
            #expect(before.counts["waiting"] == 3 && before.counts.count == 6)
            #expect(before.waiting.map(\.name) == ["a", "b", "gone"])
            #expect(before.waiting[0].file == scene.files.appending(path: "a").path)
            #expect(before.waiting[0].members == [Member(user: "ann", batch: "top 3", priority: 7)])
            // When
            let worked = await scene.queue("work", "--until-empty", "--progress", "lines")
            // Then
            #expect(worked.status == .http, "\(worked)")
            #expect(worked.error.contains("Downloaded 2 files, 24 B in ") && worked.error.contains("1 failed"))
            #expect(scene.names == ["a", "b"])
            let after = try await scene.listing()
            #expect(after.counts["done"] == 2 && after.counts["failed"] == 1)
            #expect(Set(after.ended.map(\.name)) == ["a", "b"] && after.ended.allSatisfy { $0.fileSize == 12 })
            #expect(after.failed.map(\.name) == ["gone"])
            let error = try #require(after.failed[0].error)
            #expect((error.code, error.status) == ("status", 404), "\(error)")
            #expect(error.subject.hasSuffix("/gone") && error.message.contains("404"), "\(error)")
            // The text shows the same.
            let text = await scene.queue("list").output
            #expect(text.hasPrefix("0 running, 0 waiting, 1 failed, 2 done\n\nFAILED\n   3  gone  ann (top 3)"))
            #expect(text.contains("ENDED\n") && text.contains("done  12 B"))
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `joins, keeps or repeats known downloads, and names each conflict`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            // Given a download that is done, one whose file is gone, and one that waits
            await scene.add(["/kept", "/gone"])
            #expect(await scene.queue("work", "--until-empty", "-q").status == .success)
            try FileManager.default.removeItem(at: scene.files.appending(path: "gone"))
            await scene.add(["/waiting"])
            // When
            let list = scene.directory.appending(path: "list")
            let lines = ["/kept", "/gone", "/waiting", "/new"].map(scene.origin.url)
            let conflict = "\(scene.origin.url("/other"))?key=secret\n  out=waiting"
            try Data((lines + [conflict]).joined(separator: "\n").utf8).write(to: list)
            let added = await scene.queue("add", "-d", scene.files.path, "-i", list.path)
            // Then
            #expect(added.status == .other)
            #expect(
                added.output
                    == "Added 2 downloads. 1 was in the queue already, 1 is done already, 1 conflicts with another download.\n"
            )
            #expect(added.error.contains("/other?…: The unfinished download ") && added.error.contains("out="))
            #expect(!added.error.contains("secret"))
            let listing = try await scene.listing()
            #expect(listing.waiting.map(\.name) == ["waiting", "new", "gone"])
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `prints JSON that can be decoded`(place: QueueScene.Place) async throws {
        struct Added: Decodable {
            struct Conflict: Decodable { var url, file, other: String }
            var added, joined, kept: Int
            var ids: [Int64]
            var conflicts: [Conflict]
        }
        struct Changed: Decodable, Equatable { var changed, continuing, running: Int; var unknown: [Int64] }
        try await QueueScene.run(on: place) { scene in
            let list = scene.directory.appending(path: "list")
            try Data("\u{FEFF}\(scene.origin.url("/c"))\n  out=a\n  user=bob\n".utf8).write(to: list)
            let first = await scene.add(["/a", "/b", "/a"], "--json", "-i", list.path)
            let added = try JSONDecoder().decode(Added.self, from: Data(first.output.utf8))
            #expect(added.added == 2 && added.joined == 1 && added.kept == 0 && added.ids == [1, 2, 1])
            #expect(added.conflicts.map(\.url) == [scene.origin.url("/c")])
            #expect(added.conflicts[0].other == scene.origin.url("/a"))
            let second = await scene.queue("cancel", "--json", "2", "77")
            let changed = try JSONDecoder().decode(Changed.self, from: Data(second.output.utf8))
            #expect(changed == Changed(changed: 1, continuing: 0, running: 0, unknown: [77]))
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `a download shared by two users continues for the user who stays`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            await scene.add(["/song"], "--user", "ann")
            await scene.add(["/song"], "--user", "bob", "--batch", "party")
            let stranger = await scene.queue("cancel", "--user", "cat", "1")
            #expect(stranger.status == .other)
            #expect(stranger.error.contains("1: The user has no download with this number."))
            let cancelled = await scene.queue("cancel", "--user", "ann", "1")
            #expect(cancelled.status == .success)
            #expect(cancelled.output == "Cancelled 1 download, which continues for other users or batches.\n")
            let listing = try await scene.listing()
            #expect(listing.waiting.map(\.members) == [[Member(user: "bob", batch: "party")]])
            #expect(await scene.queue("work", "--until-empty", "-q").status == .success)
            #expect(scene.names == ["song"])
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `pauses, resumes, cancels, retries and removes by each selection`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            func outputs(_ commands: [(String, [String])]) async -> [String] {
                var outputs: [String] = []
                for (command, selection) in commands { outputs.append(await scene.queue(command, selection).output) }
                return outputs
            }
            await scene.add(["/a"], "--user", "ann")
            await scene.add(["/b"], "--batch", "top 500")
            await scene.add(["/c"])
            let host = "127.0.0.1:\(scene.origin.port)"
            #expect(
                await outputs([
                    ("pause", ["--user", "ann"]), ("pause", ["--waiting"]), ("resume", ["--batch", "top 500"]),
                    ("resume", ["1"]), ("resume", ["--all"]), ("resume", ["--all"]), ("cancel", ["--host", host]),
                    ("cancel", ["--host", "127.0.0.1"]), ("retry", ["2", "3"]), ("remove", ["--all"]),
                ]) == [
                    "Paused 1 download.\n", "Paused 2 downloads.\n", "Resumed 1 download.\n", "Resumed 1 download.\n",
                    "Resumed 1 download.\n", "Resumed 0 downloads: no selected download is paused.\n",
                    "Cancelled 3 downloads.\n",
                    "Cancelled 0 downloads: no selected download is waiting, running or paused.\n",
                    "Retrying 2 downloads.\n", "Removed 1 download.\n",
                ])
            let listing = try await scene.listing()
            #expect(listing.waiting.map(\.name) == ["b", "c"])
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `a paused download isn't started, and is listed as paused`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            await scene.add(["/a", "/b"])
            #expect(await scene.queue("pause", "1").status == .success)
            #expect(await scene.queue("work", "--until-empty", "-q").status == .success)
            #expect(scene.names == ["b"])
            let listing = try await scene.listing()
            #expect(listing.paused.map(\.name) == ["a"])
        }
    }

    @Test func `pausing doesn't wait for a download that was resumed in the meantime`() async throws {
        try await QueueScene.run { scene in
            await scene.add(["/a"])
            let store = DownloadStore.sqlite(at: URL(filePath: scene.database))
            let downloads = DownloadCoordinator(store: store)
            // A worker that doesn't stop the download, as if it hadn't noticed the pause yet.
            let claim = JobClaim(
                worker: try await store.queue.attach(), count: 1, limits: .init(), lease: .seconds(3600))
            #expect(try await store.queue.takeTurn([], claiming: claim).claimed.count == 1)
            let pausing = Task { await scene.queue("pause", "1") }
            for try await snapshot in downloads.snapshots() {
                if snapshot.running.first?.download.members.first?.isPaused == true { break }
            }
            try await downloads.resume(.all)
            #expect(await pausing.value.output == "Paused 1 download.\n")
            #expect(try await downloads.snapshot().count(in: .running) == 1)
            try await downloads.close()
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `unknown numbers are reported, and the other downloads are changed`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            await scene.add(["/a"])
            let ended = await scene.queue("cancel", "1", "77")
            #expect(ended.status == .other && ended.output == "Cancelled 1 download.\n")
            #expect(ended.error.hasPrefix("sluice: 77: The queue has no download with this number."))
            let removed = await scene.queue("remove", "1", "78")
            #expect(removed.status == .other && removed.output == "Removed 1 download.\n")
            #expect(removed.error.contains("78: ") && !removed.error.contains("sluice: 1: "))
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `hostile names and servers can't control the terminal`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { _ in
            OriginResponse(status: 404)
        } during: { scene in
            let hostile = "ann\u{1B}[2J\u{202E}"
            await scene.add(["/a%1B%5B2J%0Ab"], "--user", hostile, "--batch", "\u{9B}31m\u{7}")
            for _ in 0..<2 {
                let text = await scene.queue("list")
                #expect(text.status == .success && text.output.contains("ann"))
                let controls = text.output.unicodeScalars.filter { scalar in
                    scalar != "\n"
                        && (scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar == "\u{202E}")
                }
                #expect(controls.isEmpty, "\(text.output.debugDescription)")
                // Programs get the name unchanged.
                let listing = try await scene.listing()
                #expect((listing.waiting + listing.failed).first?.members.first?.user == hostile)
                _ = await scene.queue("work", "--until-empty", "-q")
            }
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `shows no secrets from URLs`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { _ in
            OriginResponse(status: 500)
        } during: { scene in
            await scene.add(["/a?token=secret"])
            _ = await scene.queue("work", "--until-empty", "-q", "--retries", "0")
            for options in [[], ["--json"]] {
                let ended = await scene.queue("list", options)
                #expect(ended.output.contains("/a?…") && !ended.output.contains("secret"))
            }
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `lists failed downloads that ended before many others`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { request in
            request.target == "/bad" ? OriginResponse(status: 404) : OriginResponse(body: [1])
        } during: { scene in
            await scene.add(["/bad"])
            _ = await scene.queue("work", "--until-empty", "-q")
            await scene.add((0..<8).map { "/\($0)" })
            _ = await scene.queue("work", "--until-empty", "-q")
            let text = await scene.queue("list", "--limit", "2").output
            #expect(text.contains("FAILED\n   1  bad") && text.contains("ENDED (2 of 8)"), "\(text)")
        }
    }

    @Test func `stores directories as absolute paths`() async throws {
        try await QueueScene.run { scene in
            _ = await scene.queue("add", "-d", "some/./where", scene.origin.url("/a"))
            let file = try #require(try await scene.listing().waiting.first?.file)
            #expect(file == FileManager.default.currentDirectoryPath + "/some/where/a")
        }
    }

    @Test(arguments: [["list"], ["watch"], ["work"], ["pause", "--all"], ["add", "-d", "x", "http://a.example/x"]])
    func `a damaged database is reported as such and isn't replaced`(command: [String]) async throws {
        try await QueueScene.run { scene in
            // Given a database whose first page is overwritten
            await scene.add(["/a"])
            var content = try Data(contentsOf: URL(filePath: scene.database))
            content.replaceSubrange(0..<2000, with: Data(repeating: 0x5A, count: 2000))
            try content.write(to: URL(filePath: scene.database))
            // When
            let ended = await scene.queue(command[0], Array(command.dropFirst()))
            // Then
            #expect(ended.status == .store && ended.output.isEmpty)
            #expect(ended.error.hasPrefix("sluice: --db ") && ended.error.contains("Move the file away"), "\(ended)")
            #expect(try Data(contentsOf: URL(filePath: scene.database)) == content)
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `shell completion includes its commands and options`(shell: String) async {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(["--generate-completion-script", shell], console: console.console)
        #expect(status == .success)
        for word in ["queue", "resume", "until-empty", "waiting"] { #expect(console.output.contains(word)) }
    }
}

@Suite struct `sluice queue limit` {
    @Test(arguments: QueueScene.Place.usable) func `sets one limit and keeps the other, and shows both`(
        on place: QueueScene.Place
    ) async throws {
        try await QueueScene.run(on: place) { _ in
            OriginResponse(body: [1])
        } during: { scene in
            await scene.add(["/a"])
            #expect(await scene.queue("limit").output == "all downloads:  no limit\neach host:      no limit\n")
            _ = await scene.queue("limit", "--limit-rate", "2M")
            let both = await scene.queue("limit", "--limit-rate-per-host", "500k")
            #expect(both.status == .success)
            #expect(both.output == "all downloads:  2.0 MB/s\neach host:      500.0 kB/s\n")
            #expect(
                await scene.queue("limit", "--json").output
                    == "{\"maximumRate\":2000000,\"maximumRatePerHost\":500000}\n")
            #expect(
                await scene.queue("limit", "--limit-rate", "none", "--json").output
                    == "{\"maximumRate\":null,\"maximumRatePerHost\":500000}\n")
            // A worker downloads within the limits.
            #expect(await scene.queue("work", "--until-empty", "-q").status == .success)
        }
    }

    @Test func `refuses what is no rate, and queues that don't exist`() async throws {
        try await QueueScene.run { _ in
            OriginResponse(body: [1])
        } during: { scene in
            #expect(await scene.queue("limit", "--limit-rate", "2M").status == .store)
            await scene.add(["/a"])
            for (rate, message) in [("0", "at least 1 byte"), ("fast", "--limit-rate"), ("-1", "limit-rate")] {
                let refused = await scene.queue("limit", "--limit-rate", rate)
                #expect(refused.status == .usage && refused.error.contains(message), "\(refused.error)")
            }
            #expect(await scene.queue("limit").output.contains("no limit"))
        }
    }
}

@Suite struct `sluice queue copy` {
    private func facts(_ listing: QueueScene.Listing) -> [String] {
        (listing.waiting + listing.paused).map { download in
            let members = download.members.map {
                "\($0.user ?? "-")/\($0.batch ?? "-")/\($0.priority)\($0.isPaused ? "/paused" : "")"
            }
            return "\(download.name) \(download.state) \(download.failureCount) \(members.joined(separator: ", "))"
        }
    }

    @Test(arguments: QueueScene.Place.usable, QueueScene.Place.usable)
    func `copies unfinished downloads with members, priorities, pauses and failures, and keeps the source`(
        from place: QueueScene.Place, to otherPlace: QueueScene.Place
    ) async throws {
        try await QueueScene.run(on: place) { request in
            request.target == "/flaky" ? OriginResponse(status: 503) : OriginResponse(body: [1])
        } during: { scene in
            // Given one download in each state
            await scene.add(["/done"])
            _ = await scene.queue("work", "--until-empty", "-q")
            await scene.add(["/cancelled"])
            _ = await scene.queue("cancel", "--waiting")
            await scene.add(["/a", "/b"], "--user", "ann", "--batch", "one", "--priority", "3")
            await scene.add(["/b", "/c"], "--user", "bob", "--priority", "5")
            _ = await scene.queue("pause", "--user", "bob")
            let before = facts(try await scene.listing())
            #expect(
                before == [
                    "b waiting 0 ann/one/3, bob/-/5/paused", "a waiting 0 ann/one/3", "c paused 0 bob/-/5/paused",
                ])
            // When
            let other = try otherPlace.newQueue("other.db", in: scene.directory)
            let copy = ["queue", "copy", "--from", scene.database, "--to", other]
            let first = await scene.sluice(copy)
            let copied = facts(try await scene.listing(of: other))
            let second = await scene.sluice(copy)
            // Then
            #expect(first.status == .success && first.output == "Copied 3 downloads.\n", "\(first)")
            #expect(second.output == "Copied 0 downloads. 3 were in the other queue already.\n", "\(second)")
            #expect(copied == before)
            #expect(facts(try await scene.listing(of: other)) == before)
            #expect(facts(try await scene.listing()) == before)
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `a download that is done in the other queue stays done, and conflicts are named`(place: QueueScene.Place)
        async throws
    {
        try await QueueScene.run { scene in
            await scene.add(["/a", "/b"])
            let other = try place.newQueue("other.db", in: scene.directory)
            let list = scene.directory.appending(path: "list")
            try Data("\(scene.origin.url("/x"))\n  out=b\n".utf8).write(to: list)
            func add(_ rest: [String]) async {
                _ = await scene.sluice(["queue", "add", "--db", other, "-d", scene.files.path] + rest)
            }
            await add([scene.origin.url("/a")])
            _ = await scene.sluice(["queue", "work", "--db", other, "--until-empty", "-q"])
            await add(["-i", list.path])
            let ended = await scene.sluice(["queue", "copy", "--from", scene.database, "--to", other])
            #expect(ended.status == .other)
            #expect(ended.output == "Copied 0 downloads. 1 is done there, 1 conflicts with another download.\n")
            #expect(ended.error.contains("/b: In the other queue, the unfinished download 2 of "))
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `makes directories relative, and counts the others if there may be other machines`(place: QueueScene.Place)
        async throws
    {
        try await QueueScene.run { scene in
            // Given
            await scene.add(["/a"])
            let elsewhere = scene.directory.appending(path: "elsewhere").path
            _ = await scene.queue("add", "-d", elsewhere, scene.origin.url("/b"))
            _ = await scene.queue("add", "-d", scene.files.path + "/7", scene.origin.url("/c"))
            // When
            let other = try place.newQueue("other.db", in: scene.directory)
            let copy = ["queue", "copy", "--from", scene.database, "--to", other, "--relative-to", scene.files.path]
            let copied = await scene.sluice(copy)
            // Then
            #expect(copied.status == .success && copied.output == "Copied 3 downloads.\n", "\(copied)")
            let message =
                "sluice: --to: Only this machine will download 1 file, because its directory isn't below the one of --relative-to.\n"
            #expect(copied.error == (place == .file ? "" : message))
            let listing = try await scene.listing(of: other)
            #expect(listing.waiting.map(\.file) == ["a", elsewhere + "/b", "7/c"])
            let again = await scene.sluice(copy)
            #expect(again.output == "Copied 0 downloads. 3 were in the other queue already.\n", "\(again)")
            let target = scene.directory.appending(path: "target")
            let worked = await scene.sluice(["queue", "work", "--db", other, "--until-empty", "-q", "-d", target.path])
            #expect(worked.status == .success, "\(worked)")
            for file in [target.path + "/a", elsewhere + "/b", target.path + "/7/c"] {
                #expect(FileManager.default.fileExists(atPath: file), "\(file)")
            }
        }
    }
}

@Suite struct `The argument of --db` {
    @Test(arguments: ["queue.db", "./postgres:x", "/tmp/a#b.db", "postgres:/x", "mysql://a"])
    func `an argument without the scheme of PostgreSQL names a file`(argument: String) throws {
        guard case .file(let url) = try QueueAddress(argument) else {
            Issue.record("not a file")
            return
        }
        #expect(url.path.hasSuffix(argument.hasPrefix("./") ? "/postgres:x" : argument))
    }

    @Test(arguments: [
        ("postgres://db.example/sluice", "postgres://db.example/sluice", "default"),
        ("POSTGRESQL://db.example/Sluice", "postgresql://db.example/Sluice", "default"),
        (
            "postgres://ann:pass@[::1]:5433/sluice?sslmode=require#songs",
            "postgres://ann:pass@[::1]:5433/sluice?sslmode=require", "songs"
        ),
        ("postgres:///sluice#top%20500/%23", "postgres:///sluice", "top 500/#"),
        ("postgres://h/d#Lieder äöü", "postgres://h/d", "Lieder äöü"),
        // libpq accepts it in a password.
        ("postgres://ann:pa#ss@h/d", "postgres://ann:pa#ss@h/d", "default"),
        ("postgres://ann:pa#ss@h/d#songs", "postgres://ann:pa#ss@h/d", "songs"),
        ("postgres://", "postgres://", "default"),
    ])
    func `an argument with the scheme of PostgreSQL names a database and a queue in it`(
        argument: String, url: String, queue: String
    ) throws {
        #expect(try QueueAddress(argument) == .postgres(url: url, queue: queue))
    }

    @Test(arguments: ["#", "#%zz", "#a%00b", "#a\u{1B}[2J", "#" + String(repeating: "x", count: 256)])
    func `an argument with an invalid queue name is refused and isn't repeated`(end: String) {
        let problem = #expect(throws: QueueAddress.Problem.self) {
            _ = try QueueAddress("postgres://ann:secret@db.example/sluice" + end)
        }
        #expect(problem?.subject == "postgres://…")
        #expect(problem?.message.contains("255 bytes") == true && problem?.message.contains("secret") == false)
    }
}
