import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Downloading to standard output` {
    private static let content = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    private static func serving(
        _ test: @escaping @Sendable (LoopbackOrigin) async throws -> Void
    ) async throws {
        try await LoopbackOrigin.serve { request in
            switch request.target {
            case "/404": OriginResponse(status: 404)
            case "/short": OriginResponse(announcedLength: 100, steps: [.send([1, 2, 3]), .hangUp])
            case "/endless":
                OriginResponse(
                    announcedLength: nil, steps: Array(repeating: .send(Self.content), count: 100))
            default: OriginResponse(body: Self.content)
            }
        } during: {
            try await test($0)
        }
    }

    @Test func `writes exactly the file's bytes, and progress elsewhere`() async throws {
        try await Self.serving { origin in
            let sum = SHA256Digest.of(Self.content).hexadecimal
            let ended = try await ChildProcess.sluice(
                #""$@" | sha256sum"#, ["get", "-o", "-", "--checksum", "sha256:\(sum)", origin.url("/a")])
            #expect(ended.output.hasPrefix(sum), "\(ended)")
            #expect(ended.error.contains("Downloaded 1 file, 2.0 MB"))
        }
    }

    @Test(arguments: [
        (["/404"], ExitStatus.http, "404"), (["/short"], .network, "closed the connection"),
        (["/a", "--checksum", "sha256:\(String(repeating: "0", count: 64))"], .content, "SHA-256"),
        (["/a", "--max-size", "1k"], .other, "--max-size"),
    ])
    func `fails with a message and the right status`(
        arguments: [String], status: ExitStatus, message: String
    ) async throws {
        try await Self.serving { origin in
            let ended = try await ChildProcess.sluice(
                ["get", "-o", "-", "--retries", "0", origin.url(arguments[0])] + arguments.dropFirst())
            #expect(ended.status == status.rawValue && ended.error.contains(message), "\(ended)")
        }
    }

    @Test func `ends quietly when its reader does`() async throws {
        try await Self.serving { origin in
            let ended = try await ChildProcess.sluice(
                #"{ "$@"; echo "status $?" >&2; } | head -c 1000 | wc -c"#,
                ["get", "-q", "-o", "-", origin.url("/endless")])
            #expect(ended.output.contains("1000") && ended.error == "status 0\n", "\(ended)")
        }
    }

    @Test func `reports an output that can't be written`() async throws {
        try await Self.serving { origin in
            let ended = try await ChildProcess.sluice(#""$@" > /dev/full"#, ["get", "-q", "-o", "-", origin.url("/a")])
            #expect(ended.status == 3 && ended.error.contains("standard output"), "\(ended)")
        }
    }
}
