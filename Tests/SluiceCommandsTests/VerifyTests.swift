import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `sluice verify` {
    private static let body = SHA256Digest.of(Scenario.body).hexadecimal

    /// Runs commands with one state directory, against a server.
    private struct Scene: Sendable {
        let origin: LoopbackOrigin
        let directory: URL
        let files: URL

        func run(_ arguments: String...) async -> (status: ExitStatus, console: RecordedConsole) {
            let recorded = RecordedConsole()
            var console = recorded.console
            console.stateDirectory = directory.appending(path: "state", directoryHint: .isDirectory)
            return (await SluiceProgram.run(arguments, console: console), recorded)
        }

        static func with(_ test: @escaping @Sendable (Scene) async throws -> Void) async throws {
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                try await LoopbackOrigin.serve { _ in
                    OriginResponse(body: Scenario.body)
                } during: { origin in
                    let files = directory.appending(path: "files", directoryHint: .isDirectory)
                    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
                    try await test(Scene(origin: origin, directory: directory, files: files))
                }
            }
        }
    }

    @Test(arguments: ["--xattr", "--retries=1"])
    func `finds out what happened to downloaded files`(option: String) async throws {
        try await Scene.with { scene in
            let path = scene.files.path
            let get = await scene.run(
                "get", "-q", option, "-d", path, scene.origin.url("/a"), scene.origin.url("/b"))
            #expect(get.status == .success, "\(get.console.error)")
            var verified = await scene.run("verify", path)
            #expect(verified.status == .success && verified.console.errorLines.isEmpty)
            #expect(verified.console.output.contains("\(path)/a: OK\n\(path)/b: OK\nChecked 2 files, "))

            try Data("changed".utf8).write(to: scene.files.appending(path: "b"))
            try Data("other".utf8).write(to: scene.files.appending(path: "c"))
            verified = await scene.run("verify", path)
            let lines = verified.console.output.split(separator: "\n").map(String.init)
            #expect(verified.status == .content)
            #expect(
                lines.count == 4 && lines[1].hasPrefix("\(path)/b: CHANGED: ") && lines[2] == "\(path)/c: no evidence")
            #expect(lines[3].hasSuffix("1 OK, 1 changed, 1 without evidence."))
            #expect(lines[1].contains("SHA-256") == (option == "--xattr"))

            let quiet = await scene.run("verify", "-q", path)
            #expect(quiet.console.output.split(separator: "\n").map(String.init) == [lines[1], lines[3]])
            // Without the records, only the attributes are left.
            let alone = await scene.run("verify", "--no-records", path)
            #expect(alone.status == (option == "--xattr" ? .content : .other), "\(alone.console.output)")
        }
    }

    @Test func `prints JSON lines`() async throws {
        try await Scene.with { scene in
            try Data(Scenario.body).write(to: scene.files.appending(path: "a\u{1B}"))
            try Data("\(Self.body)  a\u{1B}\n\(Self.body)  none\n".utf8)
                .write(to: scene.files.appending(path: "SHA256SUMS"))
            let verified = await scene.run("verify", "--json", scene.files.path)
            #expect(verified.status == .content)
            let lines = try verified.console.output.split(separator: "\n").map {
                try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            try #require(lines.count == 3)
            #expect(lines[0]["result"] as? String == "intact" && lines[0]["evidence"] as? String == "checksumList")
            #expect(lines[0]["file"] as? String == scene.files.path + "/a\u{1B}")
            #expect(lines[1]["result"] as? String == "missing" && lines[1]["evidence"] == nil)
            #expect(
                lines[2] as? [String: Int] == [
                    "intact": 1, "changed": 0, "missing": 1, "unknown": 0, "failed": 0, "bytes": Scenario.body.count,
                ])
            // A terminal gets no control characters.
            #expect(!(await scene.run("verify", scene.files.path)).console.output.contains("\u{1B}"))
        }
    }

    @Test(
        arguments: [
            (["--checksum-file", "{dir}/SUMS", "{dir}/a"], ExitStatus.success, "/a: OK"),
            (["--checksum-file", "{dir}/SUMS", "{dir}/sub"], .content, "/b: MISSING"),
            (["{dir}/none"], .content, "/none: MISSING"), (["{dir}/sub"], .other, "Nothing says"),
            (["/dev/null"], .localFile, "/dev/null: FAILED"), ([""], .usage, "empty"),
            (["--checksum-file", "{dir}/a"], .usage, "--checksum-file "),
            (["--checksum-file", "{dir}/none"], .localFile, "--checksum-file "),
        ] as [([String], ExitStatus, String)])
    func `exits with the status of what it found`(
        arguments: [String], status: ExitStatus, expected: String
    ) async throws {
        let run = try await Scenario.run(
            ["verify"] + arguments, files: ["a": "the content\n", "SUMS": "\(Self.body)  a\n\(Self.body)  b\n"]
        ) { directory throws in
            try FileManager.default.createDirectory(
                at: directory.appending(path: "sub"), withIntermediateDirectories: false)
        }
        #expect(run.status == status, "\(run.console.output) \(run.console.error)")
        #expect((run.console.output + run.console.error).contains(expected), "\(run.console.output)")
    }

    @Test func `says why the records couldn't be read`() async throws {
        try await Scene.with { scene in
            let get = await scene.run("get", "-q", "-d", scene.files.path, scene.origin.url("/a"))
            #expect(get.status == .success)
            let state = scene.directory.appending(path: "state")
            let names = try FileManager.default.contentsOfDirectory(atPath: state.path)
            let records = state.appending(path: try #require(names.first { $0.hasSuffix(".files") }))
            try FileManager.default.removeItem(at: records)
            try FileManager.default.createSymbolicLink(at: records, withDestinationURL: URL(filePath: "/dev/zero"))
            let verified = await scene.run("verify", scene.files.path)
            #expect(verified.status == .other && verified.console.error.contains("--no-records"))
        }
    }

    @Test func `--xattr is for files`() async throws {
        let run = try await Scenario.run(["get", "-o", "-", "--xattr", "{origin}/a"])
        #expect(run.status == .usage && run.console.error.contains("--xattr"))
    }
}
