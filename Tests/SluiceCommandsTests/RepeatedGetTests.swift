import Foundation
import LoopbackOrigin
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Repeating a command` {
    private struct Scene: Sendable {
        let origin: LoopbackOrigin
        let directory: URL
        var state: URL?

        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()) ?? [] }

        func get(_ arguments: String...) async -> (status: ExitStatus, console: RecordedConsole) {
            let recorded = RecordedConsole()
            var console = recorded.console
            console.stateDirectory = state
            let all = ["get", "-d", directory.path, "--progress", "lines"] + arguments
            return (await SluiceProgram.run(all, console: console), recorded)
        }

        static func with(_ test: @escaping @Sendable (Scene) async throws -> Void) async throws {
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                try await LoopbackOrigin.serve { _ in
                    OriginResponse(body: Scenario.body)
                } during: { origin in
                    try await test(
                        Scene(
                            origin: origin, directory: directory.appending(path: "files"),
                            state: directory.appending(path: "state", directoryHint: .isDirectory)))
                }
            }
        }
    }

    @Test(arguments: [true, false]) func `does nothing, with status 0`(hasDatabase: Bool) async throws {
        try await Scene.with { scene in
            let database = scene.directory.deletingLastPathComponent().appending(path: "queue.db").path
            let extra = hasDatabase ? ["--db", database] : ["--retries", "1"]
            for run in 0..<3 {
                let (status, console) = await scene.get(
                    scene.origin.url("/a"), scene.origin.url("/b"), extra[0], extra[1])
                #expect(status == .success && scene.origin.metrics.requests == 2, "\(console.error)")
                #expect(console.error.contains(run == 0 ? "2 files" : "2 skipped"), "\(console.error)")
            }
            // Another program has changed one of them.
            try Data("mine".utf8).write(to: scene.directory.appending(path: "a"))
            let changed = await scene.get(scene.origin.url("/a"), scene.origin.url("/b"), extra[0], extra[1])
            #expect(changed.status == .localFile)
            #expect(changed.console.error.contains("--overwrite") && changed.console.error.contains("--no-clobber"))
            #expect(try Data(contentsOf: scene.directory.appending(path: "a")) == Data("mine".utf8))
        }
    }

    @Test func `without records fails, and records nothing`() async throws {
        try await Scene.with { scene in
            for status in [ExitStatus.success, .localFile] {
                let run = await scene.get(scene.origin.url("/a"), "--no-records")
                #expect(run.status == status)
            }
            let state = try #require(scene.state)
            #expect(!FileManager.default.fileExists(atPath: state.path))
        }
    }

    @Test func `says why it recorded nothing, and downloads all the same`() async throws {
        try await Scene.with { scene in
            var scene = scene
            scene.state = URL(filePath: "/proc/none")
            let (status, console) = await scene.get(scene.origin.url("/a"))
            #expect(status == .success && scene.names == ["a"])
            #expect(console.errorLines.filter { $0.contains("Note: ") && $0.contains("/proc/none") }.count == 1)
            let quiet = await scene.get(scene.origin.url("/b"), "-q")
            #expect(quiet.status == .success && quiet.console.error == "")
        }
    }

    @Test func `with another directory is the advice for a full disk`() {
        for (code, isFull) in [(FileError.Code.noSpace, true), (.quotaExceeded, true), (.readOnly, false)] {
            let cause = FileError(code, subject: "/a", message: "It's full.")
            let error = TransferError(.file, url: URL(filePath: "/"), cause: cause)
            let message = error.stopMessage("the same command")
            #expect(message.contains("Run the same command to continue") && message.contains("-d") == isFull)
        }
    }

    @Test(arguments: [
        (["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/sluice"), (["HOME": "/h"], "/h/.local/state/sluice"),
        (["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/sluice"), ([:], nil), (["HOME": ""], nil),
    ])
    func `finds the state directory`(environment: [String: String], path: String?) {
        #expect(Console.stateDirectory(environment: environment)?.path == path)
    }
}
