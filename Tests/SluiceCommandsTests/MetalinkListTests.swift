import Foundation
import LoopbackOrigin
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Metalink files as lists` {
    private static let right = SHA256Digest.of(Scenario.body).hexadecimal
    private static let wrong = SHA256Digest.of([1]).hexadecimal
    private static let get = ["get", "--retries", "0", "--progress", "lines", "-d", "{dir}/out"]

    private static func file(_ name: String, _ checksum: String, _ urls: String...) -> String {
        "<file name=\"\(name)\"><hash type=\"sha-256\">\(checksum)</hash>"
            + urls.map { "<url>\($0)</url>" }.joined() + "</file>"
    }

    private static func metalink(_ files: String...) -> String {
        "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\(files.joined(separator: "\n"))</metalink>\n"
    }

    private static let files = [
        "good.meta4": metalink(
            file("a", right, "{origin}/404/a", "{origin}/a"),
            file("sub/b", right, "{origin}/b").replacing("</file>", with: "<metaurl>http://t.example/</metaurl></file>")
        ),
        "wrong.meta4": metalink(file("a", wrong, "{origin}/a")),
        "unsafe.meta4": metalink(file("a", right, "{origin}/a"), "\n" + file("../b", right, "{origin}/b")),
        "cut.meta4": "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">",
        "list": "{origin}/c\n",
    ]

    @Test func `give files their names, checksums and mirrors`() async throws {
        let run = try await Scenario.run(
            Self.get + ["-i", "{dir}/good.meta4", "-i", "{dir}/list"], files: Self.files
        ) { _ in
        } inspect: { directory throws in
            for name in ["a", "sub/b", "c"] {
                let file = directory.appending(path: "out/\(name)")
                #expect(try Data(contentsOf: file) == Data(Scenario.body))
            }
        }
        #expect(run.status == .success, "\(run.console.error)")
        #expect(run.console.errorLines.count { $0.contains("Note: ") && $0.contains("metaurl") } == 1)
    }

    @Test(
        arguments: [
            (["-i", "{dir}/wrong.meta4"], ExitStatus.content, Self.wrong),
            (["-i", "{dir}/unsafe.meta4"], .usage, "unsafe.meta4:3: The document has the file name '../b'"),
            (["-i", "{dir}/cut.meta4"], .usage, "cut.meta4:1: The document ends within an element."),
            (["-i", "{dir}/good.meta4", "{origin}/a"], .usage, "good.meta4: 'a'"),
            (["-i", "{dir}/good.meta4", "-o", "x"], .usage, "there are 2 URLs"),
            (["-i", "{dir}/wrong.meta4", "--content-disposition"], .usage, "--content-disposition"),
        ] as [([String], ExitStatus, String)])
    func `with mistakes download nothing`(arguments: [String], status: ExitStatus, expected: String) async throws {
        let run = try await Scenario.run(Self.get + arguments, files: Self.files) { _ in
        } inspect: { directory throws in
            let out = directory.appending(path: "out")
            #expect(
                try !FileManager.default.fileExists(atPath: out.path)
                    || FileManager.default.contentsOfDirectory(atPath: out.path).isEmpty)
        }
        #expect(run.status == status && run.console.error.contains(expected), "\(run.console.error)")
    }

    @Test func `can be previewed`() async throws {
        let run = try await Scenario.run(Self.get + ["--dry-run", "-i", "{dir}/good.meta4"], files: Self.files)
        #expect(run.status == .success && run.console.output.contains("/out/sub/b  from "))
    }

    @Test(arguments: QueueScene.Place.usable) func `are added to a queue`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { request in
            request.target == "/missing" ? OriginResponse(status: 404) : OriginResponse(body: Scenario.body)
        } during: { scene in
            let (missing, there) = (scene.origin.url("/missing"), scene.origin.url("/there"))
            let list = scene.directory.appending(path: "list")
            try Data(Self.metalink(Self.file("a", Self.right, missing, there), Self.file("b", Self.wrong, there)).utf8)
                .write(to: list)
            await scene.add([], "-i", list.path)
            let worked = await scene.queue("work", "--until-empty", "-q", "--retries", "0")
            #expect(worked.status == .content, "\(worked.error)")
            #expect(scene.names == ["a"])
            try Data("<x/>".utf8).write(to: list)
            let refused = await scene.add([], "-i", list.path)
            #expect(refused.status == .usage && refused.error.contains("isn't a Metalink"), "\(refused.error)")
        }
    }
}
