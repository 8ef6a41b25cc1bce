import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `sluice get` {
    @Test func `downloads URLs into a directory that it creates`() async throws {
        let run = try await Scenario.run([
            "get", "-d", "{dir}/new/deep", "{origin}/a", "{origin}/b%20c", "{origin}/large",
        ]) { _ in
        } inspect: { directory throws in
            let deep = directory.appending(path: "new/deep")
            #expect(try Data(contentsOf: deep.appending(path: "a")) == Data(Scenario.body))
            #expect(try Data(contentsOf: deep.appending(path: "b c")) == Data(Scenario.body))
            #expect(try Data(contentsOf: deep.appending(path: "large")).count == 1_000_000)
            #expect(try FileManager.default.contentsOfDirectory(atPath: deep.path).count == 3)
        }
        #expect(run.status == .success)
        #expect(run.console.error.contains("Downloaded 3 files, 1.0 MB in "))
        #expect(run.console.errorLines.count == 4)
        #expect(run.console.output.isEmpty)
    }

    @Test func `saves a single file under the name given with -o`() async throws {
        let run = try await Scenario.run(["get", "-q", "-d", "{dir}", "-o", "mine.txt", "{origin}/a"])
        #expect(run.status == .success && run.names == ["mine.txt"])
    }

    @Test func `reads a list with options, comments and CR LF`() async throws {
        let list = "# songs\r\n\r\n{origin}/a\r\n  out=one.txt\r\n\tdir={dir}/deep\r\n{origin}/b\r\n"
        let run = try await Scenario.run(
            ["get", "-q", "-d", "{dir}/out", "-i", "{dir}/list", "{origin}/z"], files: ["list": list]
        ) { _ in
        } inspect: { directory throws in
            #expect(
                try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()
                    == ["deep", "deep/one.txt", "list", "out", "out/b", "out/z"])
            #expect(try Data(contentsOf: directory.appending(path: "deep/one.txt")) == Data(Scenario.body))
        }
        #expect(run.status == .success)
    }

    @Test func `retries a transient failure`() async throws {
        let run = try await Scenario.run(["get", "--progress", "lines", "-d", "{dir}", "{origin}/once"])
        #expect(run.status == .success && run.names == ["once"])
        #expect(run.console.error.contains("Retrying in"))
        #expect(run.console.error.contains("1 retry."))
    }

    @Test func `replaces or skips existing files, as requested`() async throws {
        for (option, content) in [("--overwrite", Scenario.body), ("--no-clobber", Array("old".utf8))] {
            let run = try await Scenario.run(["get", option, "-d", "{dir}", "{origin}/a"]) { directory in
                try Data("old".utf8).write(to: directory.appending(path: "a"))
            } inspect: { directory throws in
                #expect(try Data(contentsOf: directory.appending(path: "a")) == Data(content))
            }
            #expect(run.status == .success && run.names == ["a"])
        }
    }

    @Test func `counts all spellings of a host as one host`() async throws {
        try await LoopbackOrigin.serve { _ in
            OriginResponse(body: Scenario.body)
        } during: { origin in
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                let urls = ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001"].enumerated().flatMap {
                    index, host in
                    (0..<8).map { "http://\(host):\(origin.port)/\(index)-\($0)" }
                }
                let status = await SluiceProgram.run(
                    ["get", "-q", "-j", "16", "--per-host", "1", "-d", directory.path] + urls,
                    console: RecordedConsole().console)
                #expect(status == .success)
                #expect(origin.metrics.requests == urls.count && origin.metrics.peak == 1)
            }
        }
    }

    @Test func `reports JSON lines on standard output`() async throws {
        let run = try await Scenario.run(["get", "--progress", "json", "-d", "{dir}", "{origin}/a", "{origin}/404"])
        #expect(run.status == .http)
        #expect(run.console.error.isEmpty)
        struct Line: Decodable {
            var event: String
            var index: Int?
            var file: String?
            var fileSize: Int64?
            var error: String?
            var done: Int?
            var failed: Int?
        }
        let lines = try run.console.output.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        let done = try #require(lines.first { $0.event == "done" })
        #expect(done.index == 0 && done.file == "a" && done.fileSize == 12)
        let failed = try #require(lines.first { $0.event == "failed" })
        #expect(failed.index == 1 && failed.error?.contains("404") == true)
        #expect(lines.last?.event == "summary" && lines.last?.done == 1 && lines.last?.failed == 1)
    }

    @Test func `draws bars on a terminal and restores it`() async throws {
        let run = try await Scenario.run(["get", "-d", "{dir}", "{origin}/a", "{origin}/404"], isTerminal: true)
        #expect(run.status == .http)
        #expect(run.console.error.hasPrefix("\u{1B}[?25l"))
        #expect(run.console.error.hasSuffix("\u{1B}[?25h"))
        #expect(run.console.error.contains("Total "))
        #expect(run.console.error.contains("sluice: http://127.0.0.1"))
        #expect(run.console.error.contains("Downloaded 1 file, 12 B in "))
    }

    @Test func `prints nothing with -q`() async throws {
        let run = try await Scenario.run(["get", "-q", "-d", "{dir}", "{origin}/a"])
        #expect(run.status == .success && run.console.error.isEmpty && run.console.output.isEmpty)
    }

    @Test(arguments: [[], ["--help"], ["get", "--help"], ["help", "get"], ["demo", "-h"], ["--version"]])
    func `help and version go to standard output`(arguments: [String]) async {
        let console = RecordedConsole()
        #expect(await SluiceProgram.run(arguments, console: console.console) == .success)
        #expect(!console.output.isEmpty && console.error.isEmpty)
    }
}

@Suite struct `List files` {
    @Test func `a list has URLs with indented options`() {
        let list = GetList(
            "# mine\nhttps://a.example/1\n  out=one.mp3\n\tdir=music \n\nhttps://a.example/2?x=1#y\r\n",
            name: "list.txt")
        #expect(list.problems == [])
        #expect(
            list.entries == [
                .init(url: "https://a.example/1", name: "one.mp3", directory: "music", place: "list.txt:2"),
                .init(url: "https://a.example/2?x=1#y", name: nil, directory: nil, place: "list.txt:6"),
            ])
    }

    @Test(arguments: [
        ("  out=x\n", "list:1: The indented option has no URL"),
        ("http://a\n  nonsense\n", "list:2: 'nonsense' isn't an option"),
        ("http://a\n  color=red\n", "list:2: The option 'color' is unknown"),
    ])
    func `an error in a list is reported with its line`(text: String, problem: String) {
        let problems = GetList(text, name: "list").problems
        #expect(problems.count == 1)
        #expect(problems[0].hasPrefix(problem))
    }

    @Test func `a byte order mark is skipped`() {
        #expect(GetList("\u{FEFF}http://a.example/x\n", name: "l").entries.map(\.url) == ["http://a.example/x"])
    }

    @Test func `an empty text has no entries`() {
        #expect(GetList("", name: "x").entries.isEmpty)
        #expect(GetList("\n\n#\n", name: "x").entries.isEmpty)
    }
}

@Suite struct `sluice get --trace` {
    /// The lines of a trace without times and other details that differ from run to run.
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

    @Test func `records each attempt, and why one failed`() async throws {
        let run = try await Scenario.run(
            ["get", "--retries", "1", "--trace", "-", "-d", "{dir}", "{origin}/once", "{origin}/short"])
        #expect(run.status == .network)
        let traced = run.console.errorLines.filter { $0.contains(" #") }
        #expect(traced.count { $0.contains(" > GET ") } == 4)
        #expect(traced.count { $0.contains(" < 503") } == 1)
        #expect(traced.count { $0.contains(" ! ") && $0.contains("/short: The server closed the connection") } == 2)
        // The lines of progress are printed, too.
        #expect(run.console.error.contains("once  12 B\n"))
    }

    @Test(arguments: [["-v"], ["--verbose"], ["-v", "--trace", "-"]])
    func `verbose shows the heads once, and the progress as lines`(options: [String]) async throws {
        let run = try await Scenario.run(["get"] + options + ["-d", "{dir}", "{origin}/a?token=hush"])
        #expect(run.status == .success && run.console.output.isEmpty)
        #expect(run.console.errorLines.count { $0.contains(" #1 > GET ") } == 1)
        #expect(run.console.errorLines.count { $0.contains(" #1 < 200") } == 1)
        #expect(run.console.error.contains("a  12 B\n") && !run.console.error.contains("hush"))
    }

    @Test func `verbose with a trace file writes to both`() async throws {
        let written = Recorder<String>()
        let run = try await Scenario.run(
            ["get", "-v", "--trace", "{dir}/trace", "-d", "{dir}", "{origin}/a"],
            inspect: { written.note(try String(contentsOf: $0.appending(path: "trace"), encoding: .utf8)) })
        #expect(run.status == .success)
        let traced = run.console.errorLines.filter { $0.contains(" #1 ") }
        #expect(traced.count > 4 && traced.joined(separator: "\n") + "\n" == written.values.first)
        // The disk is full, but standard error still gets everything.
        let full = try await Scenario.run(["get", "-v", "--trace", "/dev/full", "-d", "{dir}", "{origin}/a"])
        #expect(full.status == .localFile && full.names == ["a"])
        #expect(full.console.errorLines.contains { $0.contains(" #1 = complete") })
    }

    @Test func `verbose and quiet show the heads without progress`() async throws {
        let run = try await Scenario.run(["get", "-qv", "-d", "{dir}", "{origin}/a"])
        #expect(run.status == .success && run.console.errorLines.allSatisfy { $0.contains(" #1 ") })
        #expect(run.console.errorLines.count > 4)
    }

    @Test func `verbose keeps standard output free for the file or for JSON lines`() async throws {
        let file = try await Scenario.run(["get", "-v", "-o", "-", "{origin}/a"])
        #expect(
            file.status == .success && file.console.error.contains(" #1 < 200") && !file.console.output.contains(" #1 ")
        )
        let json = try await Scenario.run(["get", "-v", "--progress", "json", "-d", "{dir}", "{origin}/a"])
        #expect(json.status == .success && json.console.error.contains(" #1 < 200"))
        #expect(json.console.output.split(separator: "\n").allSatisfy { $0.hasPrefix("{") })
    }

    @Test func `verbose refuses bars, which would overwrite it`() async throws {
        let run = try await Scenario.run(["get", "-v", "--progress", "bar", "-d", "{dir}", "{origin}/a"])
        #expect(run.status == .usage && run.names.isEmpty && run.console.error.contains("-v: The bars"))
    }

    @Test func `refuses a file that can't be written before anything is downloaded`() async throws {
        let missing = try await Scenario.run(["get", "--trace", "{dir}/none/trace", "-d", "{dir}", "{origin}/a"])
        #expect(missing.status == .localFile && missing.names.isEmpty)
        #expect(missing.console.error.contains("--trace: ") && missing.console.error.contains("/none/trace"))
        for arguments in [["--trace", ""], ["--trace", "-", "--progress", "bar"]] {
            let run = try await Scenario.run(["get"] + arguments + ["-d", "{dir}", "{origin}/a"])
            #expect(run.status == .usage && run.names.isEmpty && run.console.error.contains("--trace"))
        }
    }

    @Test func `a trace that a full disk cuts short is a failure, but the download succeeds`() async throws {
        let run = try await Scenario.run(["get", "-q", "--trace", "/dev/full", "-d", "{dir}", "{origin}/a"])
        #expect(run.status == .localFile && run.names == ["a"])
        #expect(run.console.error.contains("--trace: Couldn't write '/dev/full'"))
    }

    @Test func `a status without a phrase, as in HTTP/2, has no space after it`() {
        let head = ResponseHead(status: .init(code: 206, reasonPhrase: ""), headerFields: [:])
        #expect(Trace().text(of: TransportTrace(exchange: 1, step: .answered(head))).hasSuffix(" < 206\n"))
    }

    @Test func `escapes what a server puts into its header fields`() {
        let head = ResponseHead(
            status: .init(code: 200, reasonPhrase: "\u{1B}[2J"), headerFields: [.server: "a\u{9B}31m\u{202E}b"])
        let trace = Trace()
        #expect(trace.text(of: TransportTrace(exchange: 1, step: .answered(head))).contains("\u{1B}") == false)
    }
}
