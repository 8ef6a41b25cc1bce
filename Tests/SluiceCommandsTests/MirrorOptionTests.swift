import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Mirrors of downloads` {
    private static let right = SHA256Digest.of(Scenario.body).hexadecimal
    private static let get = ["get", "--retries", "0", "-d", "{dir}/out"]

    @Test(
        arguments: [
            ["--mirror", "{origin}/a", "{origin}/404/missing"], ["-i", "{dir}/list"], ["-i", "{dir}/json"],
            ["--mirror", "{origin}/500/none", "--mirror", "{origin}/a", "-o", "missing", "{origin}/410/gone"],
        ])
    func `are tried after a failure, and the message names the URL that failed`(arguments: [String]) async throws {
        let run = try await Scenario.run(
            Self.get + arguments,
            files: [
                "list": "{origin}/404/missing\n  mirror={origin}/500/none\n  mirror={origin}/a\n",
                "json":
                    #"{"url": "{origin}/404/missing", "mirror": ["{origin}/a"], "checksum": "sha256:\#(Self.right)"}"#,
            ]
        ) { _ in
        } inspect: { directory throws in
            let file = directory.appending(path: "out/missing")
            #expect(try Data(contentsOf: file) == Data(Scenario.body))
        }
        #expect(run.status == .success, "\(run.console.error)")
        #expect(run.console.error.contains("instead."))
    }

    @Test(
        arguments: [
            (["--mirror", "ftp://a.example/", "{origin}/a"], "--mirror: "),
            (["--mirror", "", "{origin}/a"], "--mirror: "),
            (["--mirror", "{origin}/c", "{origin}/a", "{origin}/b"], "for one file"),
            (["-i", "{dir}/list"], "list:2: mirror=: "),
        ] as [([String], String)])
    func `that are unusable are refused before the first request`(
        arguments: [String], expected: String
    ) async throws {
        let run = try await Scenario.run(Self.get + arguments, files: ["list": "# a list\n{origin}/b\n  mirror=x\n"])
        #expect(run.status == .usage && run.names == ["list"])
        #expect(run.console.error.contains(expected), "\(run.console.error)")
    }

    @Test(arguments: QueueScene.Place.usable) func `are stored in the queue`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { request in
            request.target == "/missing" ? OriginResponse(status: 404) : OriginResponse(body: Scenario.body)
        } during: { scene in
            let list = scene.directory.appending(path: "list")
            let (missing, there) = (scene.origin.url("/missing"), scene.origin.url("/a"))
            try Data("\(missing)\n  mirror=\(there)\n".utf8).write(to: list)
            await scene.add([], "-i", list.path)
            let worked = await scene.queue("work", "--until-empty", "-q", "--retries", "0")
            #expect(worked.status == .success, "\(worked.error)")
            #expect(scene.names == ["missing"])
        }
    }
}
