import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `sluice get --trace` {
    /// The lines of a trace without times and without what differs from run to run.
    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { line in
            let words = line.split(separator: " ", maxSplits: 1)
            #expect(words.count == 2 && Double(words[0]) != nil, "\(line)")
            return words.count == 2 ? String(words[1]) : ""
        }
    }

    @Test func `writes requests, heads and times to a file, without secrets`() async throws {
        let written = Recorder<String>()
        let run = try await Scenario.run([
            "get", "-q", "--trace", "{dir}/trace", "-d", "{dir}", "{origin}/a?token=hush",
        ]) {
            try Data("what was there".utf8).write(to: $0.appending(path: "trace"))
        } inspect: { directory throws in
            written.note(try String(contentsOf: directory.appending(path: "trace"), encoding: .utf8))
        }
        #expect(run.status == .success && run.names == ["a", "trace"] && run.console.error.isEmpty)
        let text = try #require(written.values.first)
        let lines = lines(text)
        #expect(lines.first?.hasPrefix("#1 > GET http://127.0.0.1:") == true && lines.first?.hasSuffix("/a?…") == true)
        #expect(lines.contains("#1 > Accept-Encoding: identity"))
        #expect(
            lines.contains { $0.hasPrefix("#1 < 200") } && lines.contains("#1 < Content-Length: \(Scenario.body.count)")
        )
        #expect(lines.last?.hasPrefix("#1 = complete after ") == true && lines.last?.contains(", first byte ") == true)
        #expect(!text.contains("hush") && !text.contains("what was there"))
    }

    @Test func `tells of each attempt, and why one failed`() async throws {
        let run = try await Scenario.run(
            ["get", "--retries", "1", "--trace", "-", "-d", "{dir}", "{origin}/once", "{origin}/short"])
        #expect(run.status == .network)
        let traced = run.console.errorLines.filter { $0.contains(" #") }
        #expect(traced.count { $0.contains(" > GET ") } == 4)
        #expect(traced.count { $0.contains(" < 503") } == 1)
        #expect(traced.count { $0.contains(" ! ") && $0.contains("/short: The server closed the connection") } == 2)
        // Beside the lines of progress.
        #expect(run.console.error.contains("once  12 B\n"))
    }

    @Test func `refuses a place that can't be written, before anything is downloaded`() async throws {
        let missing = try await Scenario.run(["get", "--trace", "{dir}/none/trace", "-d", "{dir}", "{origin}/a"])
        #expect(missing.status == .localFile && missing.names.isEmpty)
        #expect(missing.console.error.contains("--trace: ") && missing.console.error.contains("/none/trace"))
        for arguments in [["--trace", ""], ["--trace", "-", "--progress", "bar"]] {
            let run = try await Scenario.run(["get"] + arguments + ["-d", "{dir}", "{origin}/a"])
            #expect(run.status == .usage && run.names.isEmpty && run.console.error.contains("--trace"))
        }
    }

    @Test func `that a full disk cuts short is a failure, and the downloads are not`() async throws {
        let run = try await Scenario.run(["get", "-q", "--trace", "/dev/full", "-d", "{dir}", "{origin}/a"])
        #expect(run.status == .localFile && run.names == ["a"])
        #expect(run.console.error.contains("--trace: Could not write '/dev/full'"))
    }

    @Test func `escapes what a server puts into its fields`() {
        let head = ResponseHead(
            status: .init(code: 200, reasonPhrase: "\u{1B}[2J"), headerFields: [.server: "a\u{9B}31m\u{202E}b"])
        let trace = Trace()
        #expect(trace.text(of: TransportTrace(exchange: 1, step: .answered(head))).contains("\u{1B}") == false)
    }
}
