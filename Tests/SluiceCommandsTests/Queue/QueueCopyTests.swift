import Foundation
import LoopbackOrigin
import SluiceCommands
import Testing

@Suite struct `sluice queue copy` {
    private func facts(_ listing: QueueScene.Listing) -> [String] {
        (listing.waiting + listing.paused).map { download in
            let members = download.members.map {
                "\($0.user ?? "-")/\($0.batch ?? "-")/\($0.priority)\($0.paused ? "/paused" : "")"
            }
            return "\(download.name) \(download.state) \(download.failures) \(members.joined(separator: ", "))"
        }
    }

    @Test(arguments: QueueScene.Place.usable, QueueScene.Place.usable)
    func `copies unfinished downloads with members, priorities, pauses and failures, and leaves the source`(
        from place: QueueScene.Place, to otherPlace: QueueScene.Place
    ) async throws {
        try await QueueScene.run(on: place) { request in
            request.target == "/flaky" ? OriginResponse(status: 503) : OriginResponse(body: [1])
        } _: { scene in
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
    func `what is done in the other queue stays done, and conflicts are named`(place: QueueScene.Place) async throws {
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
                "sluice: --to: Only this machine will download 1 file, because its directory isn't below that of --relative-to.\n"
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
