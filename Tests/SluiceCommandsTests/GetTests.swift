import Foundation
import LoopbackOrigin
import SluiceCommands
import SluiceFiles
import Testing

@Suite struct `sluice get` {
    @Test func `fetches URLs into a directory that it makes`() async throws {
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

    @Test func `names a single file as told`() async throws {
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

    @Test func `tries again what fails for a passing reason`() async throws {
        let run = try await Scenario.run(["get", "--progress", "lines", "-d", "{dir}", "{origin}/once"])
        #expect(run.status == .success && run.names == ["once"])
        #expect(run.console.error.contains("Retrying in"))
        #expect(run.console.error.contains("1 retry."))
    }

    @Test func `replaces or skips what exists, as asked`() async throws {
        for (option, content) in [("--overwrite", Scenario.body), ("--no-clobber", Array("old".utf8))] {
            let run = try await Scenario.run(["get", option, "-d", "{dir}", "{origin}/a"]) { directory in
                try Data("old".utf8).write(to: directory.appending(path: "a"))
            } inspect: { directory throws in
                #expect(try Data(contentsOf: directory.appending(path: "a")) == Data(content))
            }
            #expect(run.status == .success && run.names == ["a"])
        }
    }

    @Test func `counts all spellings of a host as one`() async throws {
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
            var bytes: Int64?
            var error: String?
            var done: Int?
            var failed: Int?
        }
        let lines = try run.console.output.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        let done = try #require(lines.first { $0.event == "done" })
        #expect(done.index == 0 && done.file == "a" && done.bytes == 12)
        let failed = try #require(lines.first { $0.event == "failed" })
        #expect(failed.index == 1 && failed.error?.contains("404") == true)
        #expect(lines.last?.event == "summary" && lines.last?.done == 1 && lines.last?.failed == 1)
    }

    @Test func `draws bars on a terminal and leaves it in order`() async throws {
        let run = try await Scenario.run(["get", "-d", "{dir}", "{origin}/a", "{origin}/404"], isTerminal: true)
        #expect(run.status == .http)
        #expect(run.console.error.hasPrefix("\u{1B}[?25l"))
        #expect(run.console.error.hasSuffix("\u{1B}[?25h"))
        #expect(run.console.error.contains("Total "))
        #expect(run.console.error.contains("sluice: http://127.0.0.1"))
        #expect(run.console.error.contains("Downloaded 1 file, 12 B in "))
    }

    @Test func `is quiet when asked`() async throws {
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

@Suite struct `sluice demo` {
    @Test func `downloads everything and compares every byte`() async {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(["demo", "-j", "32", "--progress", "none"], console: console.console)
        #expect(status == .success, "\(console.error)")
        #expect(console.output.contains("300 of 300 downloaded, 300 compared equal"))
        #expect(console.output.contains("Retries  30 "))
    }

    @Test func `sees a single corrupt byte`() async {
        let console = RecordedConsole()
        let arguments = ["demo", "-j", "32", "--progress", "none", "--corrupt", "41"]
        #expect(await SluiceProgram.run(arguments, console: console.console) == .content)
        #expect(console.output.contains("299 compared equal"))
        #expect(console.error.contains("song-042.wav differs from the server's file"))
    }
}
