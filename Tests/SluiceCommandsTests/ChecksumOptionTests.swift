import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Checksums of downloads` {
    private static let right = SHA256Digest.of(Scenario.body).hexadecimal
    private static let wrong = SHA256Digest.of([1]).hexadecimal
    private static let get = ["get", "-q", "--retries", "0", "-d", "{dir}/out"]

    @Test(
        arguments: [
            (["--checksum", "sha256:\(right)", "{origin}/a"], ExitStatus.success),
            (["--checksum", "sha256:\(wrong)", "{origin}/a"], .content),
            (["-i", "{dir}/list"], .content),
            (["-i", "{dir}/list", "--checksum-file", "{dir}/SUMS"], .content),
            (["--checksum-file", "{dir}/SUMS", "{origin}/a", "{origin}/c"], .success),
            (["--checksum-file", "{dir}/SUMS", "{origin}/b"], .content),
        ] as [([String], ExitStatus)])
    func `are verified`(arguments: [String], status: ExitStatus) async throws {
        let run = try await Scenario.run(
            Self.get + arguments,
            files: [
                "list": "{origin}/b\n  checksum=SHA-256:\(Self.wrong)\n{origin}/a\n  checksum=sha256:\(Self.right)\n",
                "SUMS": "\(Self.right)  a\n\(Self.wrong) *b\nSHA256 (c) = \(Self.right)\n",
            ]
        ) { _ in
        } inspect: { directory throws in
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.appending(path: "out").path)
            #expect(!names.contains("b") && (status == .success || !names.contains("c")))
            #expect(!names.contains { $0.contains("sluice") })
        }
        #expect(run.status == status, "\(run.console.error)")
        if status == .content { #expect(run.console.error.contains(Self.wrong)) }
    }

    @Test func `let an existing file count as done, or fail`() async throws {
        let checksum = ["--checksum", "sha256:\(Self.right)", "{origin}/a"]
        for (content, option, status) in [
            (Scenario.body, "--retries=1", ExitStatus.success), (Scenario.body, "--no-clobber", .success),
            (Array("x".utf8), "--no-clobber", .content), (Array("x".utf8), "--retries=1", .localFile),
            (Array("x".utf8), "--overwrite", .success),
        ] {
            let run = try await Scenario.run(["get", "-q", "-d", "{dir}", option] + checksum) { directory in
                try Data(content).write(to: directory.appending(path: "a"))
            } inspect: { directory throws in
                let now = try Data(contentsOf: directory.appending(path: "a"))
                #expect(now == Data(status == .success ? Scenario.body : content))
            }
            #expect(run.status == status && run.names == ["a"], "\(run.console.error)")
            if status != .success { #expect(run.console.error.contains("--overwrite")) }
        }
    }

    @Test(
        arguments: [
            (["--checksum", "sha256:xyz", "{origin}/a"], ExitStatus.usage, "--checksum: Write sha256:"),
            (["--checksum", "md5:\(wrong)", "{origin}/a"], .usage, "--checksum: Write sha256:"),
            (["--checksum", "sha256:\(right)", "{origin}/a", "{origin}/b"], .usage, "for one file"),
            (["-i", "{dir}/list"], .usage, "list:1: checksum=: Write sha256:"),
            (["--checksum-file", "{dir}/none", "{origin}/a"], .localFile, "--checksum-file "),
            (["--checksum-file", "{dir}/list", "{origin}/a"], .usage, "Line 1 isn't a checksum"),
            (["--checksum-file", "{dir}/SUMS", "{origin}/z"], .usage, "The file 'z' isn't in "),
        ] as [([String], ExitStatus, String)])
    func `that are unusable are refused before the first request`(
        arguments: [String], status: ExitStatus, expected: String
    ) async throws {
        let run = try await Scenario.run(
            Self.get + arguments, files: ["list": "{origin}/b\n  checksum=1\n", "SUMS": "\(Self.right)  a\n"])
        #expect(run.status == status && run.names == ["SUMS", "list"])
        #expect(run.console.error.contains(expected), "\(run.console.error)")
    }

    @Test(arguments: QueueScene.Place.usable) func `are stored in the queue`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            let sums = scene.directory.appending(path: "SUMS")
            try Data("\(Self.right)  a\n\(Self.wrong)  b\n".utf8).write(to: sums)
            await scene.add(["/a", "/b"], "--checksum-file", sums.path)
            let worked = await scene.queue("work", "--until-empty", "-q", "--retries", "0")
            #expect(worked.status == .content && worked.error.contains(Self.wrong))
            #expect(scene.names == ["a"])
            #expect(try await scene.listing().failed.map(\.error?.code) == ["digestMismatch"])
        }
    }
}
