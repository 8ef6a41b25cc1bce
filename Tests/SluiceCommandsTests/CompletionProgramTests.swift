import Foundation
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `Command lines without a shell` {
    @Test(
        arguments: [
            ("a", ["a"]), ("  a  b\tc\n", ["a", "b", "c"]), (#"a 'b c' "d e""#, ["a", "b c", "d e"]),
            (#"a b\ c \$d"#, ["a", "b c", "$d"]), (#"a "b\"c\\d\e" '\'"#, ["a", #"b"c\d\e"#, #"\"#]),
            (#"a '' "" b''c"#, ["a", "", "", "bc"]), ("a $(b) * ~ | c", ["a", "$(b)", "*", "~", "|", "c"]),
            (#"sh -c "mv \"$SLUICE_PATH\" done/""#, ["sh", "-c", #"mv "$SLUICE_PATH" done/"#]),
            ("é 'ü'", ["é", "ü"]), ("'\u{301}a' b\u{301}", ["\u{301}a", "b\u{301}"]), ("'a\r\n'", ["a\r\n"]),
        ] as [(String, [String])])
    func `are split into words`(text: String, words: [String]) throws {
        #expect(try ShellWords(text).words == words)
    }

    @Test(arguments: ["", "  ", "''", #"a ""#, "a 'b", #"a \"#, "a\0b"]) func `must be complete`(text: String) {
        #expect(throws: ShellWords.Invalid.self) { try ShellWords(text) }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A program for each file` {
    /// Runs `get --on-complete` with a script.
    private static func run(
        _ script: String, _ arguments: [String], inspect: @escaping @Sendable (URL) throws -> Void = { _ in }
    ) async throws -> Scenario {
        try await Scenario.run(
            [
                "get", "-d", "{dir}/out dir", "--progress", "lines", "--on-complete",
                "/bin/sh {dir}/script 'one arg'",
            ] + arguments,
            files: ["script": script], inspect: inspect)
    }

    @Test func `gets the path, the URL and the size, once for each file`() async throws {
        let script = #"""
            read line
            printf '%s|%s|%s|%s|%s\n' "$1" "$2" "$SLUICE_PATH" "$SLUICE_URL" "$SLUICE_SIZE$line" >> '{dir}/log'
            """#
        let run = try await Self.run(script, ["{origin}/a?q=1", "{origin}/b", "{origin}/404"]) { directory throws in
            let text = try String(contentsOf: directory.appending(path: "log"), encoding: .utf8)
            let lines = text.split(separator: "\n")
            #expect(lines.count == 2)
            for (name, query) in [("a", "?q=1"), ("b", "")] {
                let path = directory.appending(path: "out dir/\(name)").path
                let line = lines.first { $0.contains("/\(name)\(query)|") }
                #expect(line?.hasPrefix("one arg|\(path)|\(path)|http://127.0.0.1:") == true, "\(lines)")
                #expect(line?.hasSuffix("/\(name)\(query)|12") == true, "\(lines)")
            }
        }
        #expect(run.status == .http)
    }

    @Test func `that fails is reported, and the file stays`() async throws {
        for (script, message) in [("exit 3", "status 3"), ("kill -9 $$", "signal")] {
            let run = try await Self.run(script, ["{origin}/a"]) { directory throws in
                #expect(try Data(contentsOf: directory.appending(path: "out dir/a")) == Data(Scenario.body))
            }
            #expect(run.status == .other && run.console.error.contains(message), "\(run.console.error)")
            #expect(run.console.error.contains("--on-complete") && run.console.error.contains("out dir/a"))
        }
    }

    @Test func `isn't run for skipped files`() async throws {
        let run = try await Scenario.run(
            ["get", "-q", "-d", "{dir}", "--no-clobber", "--on-complete", "/bin/false", "{origin}/a"]
        ) { try Data("old".utf8).write(to: $0.appending(path: "a")) }
        #expect(run.status == .success, "\(run.console.error)")
    }

    @Test(arguments: [("no-such-program", "'no-such-program'"), ("'a", "quote"), ("", "empty"), ("/", "'/'")])
    func `that can't be run is refused before the first request`(command: String, message: String) async throws {
        let run = try await Scenario.run(["get", "-d", "{dir}", "--on-complete", command, "{origin}/a"])
        #expect(run.status == .usage && run.console.error.contains("--on-complete: "), "\(run.console.error)")
        #expect(run.console.error.contains(message) && run.names == [])
    }

    @Test func `runs for the files that a worker of a queue downloads`() async throws {
        try await QueueScene.run { request in
            request.target == "/404" ? OriginResponse(status: 404) : OriginResponse(body: Scenario.body)
        } during: { scene in
            let script = scene.directory.appending(path: "script")
            let log = scene.directory.appending(path: "log")
            let line = #"printf '%s|%s|%s\n' "$1" "$SLUICE_URL" "$SLUICE_SIZE" >> '\#(log.path)'"#
            try Data("\(line)\n".utf8).write(to: script)
            await scene.add(["/a", "/b", "/404"])
            let ended = await scene.queue("work", "--until-empty", "-q", "--on-complete", "sh \(script.path)")
            #expect(ended.status == .http, "\(ended.error)")
            let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").sorted()
            #expect(lines.count == 2)
            for (line, name) in zip(lines, ["a", "b"]) {
                #expect(line.hasPrefix("\(scene.files.appending(path: name).path)|http://127.0.0.1:"), "\(line)")
                #expect(line.hasSuffix("/\(name)|12"), "\(line)")
            }
            await scene.add(["/c"])
            let failed = await scene.queue("work", "--until-empty", "-q", "--on-complete", "/bin/false")
            #expect(failed.status == .other && failed.error.contains("--on-complete: '/bin/false' ended with status 1"))
            let missing = await scene.queue("work", "--until-empty", "--on-complete", "no-such-program")
            #expect(missing.status == .usage && missing.error.contains("'no-such-program'"))
        }
    }

    @Test func `ends with the command`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let begun = directory.appending(path: "begun")
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: [1])
            } during: { origin in
                // A program that would run for a minute, and tells when it has begun.
                let fifo = Data("echo $$ > '\(begun.path)'; exec sleep 60\n".utf8)
                try fifo.write(to: directory.appending(path: "script"))
                let changes = try await FileIO.shared.changes(of: directory, kinds: .closedAfterWriting)
                let ended = try await ChildProcess.sluice([
                    "get", "-q", "-d", directory.path, "--on-complete", "sh \(directory.path)/script", origin.url("/a"),
                ]) { process in
                    for try await change in changes where change.name == "begun" { break }
                    process.signal(SIGINT)
                }
                #expect(ended.status == 7 || ended.status == 1, "\(ended)")
                let id = try #require(
                    pid_t(String(contentsOf: begun, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
                #expect(kill(id, 0) != 0)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A dry run` {
    @Test func `says what would happen, and changes nothing`() async throws {
        let sum = "sha256:\(String(repeating: "0", count: 64))"
        for (option, expected, status) in [
            ("--retries=0", "fail", ExitStatus.localFile), ("--no-clobber", "skip", .success),
            ("--overwrite", "download", .success),
        ] {
            let run = try await Scenario.run(
                ["get", "--dry-run", "-d", "{dir}/new", option, "-i", "{dir}/list"],
                files: ["list": "{origin}/a?secret\n{origin}/b\n dir={dir}\n{origin}/c\n dir={dir}\n checksum=\(sum)\n"]
            ) { directory in
                try Data("old".utf8).write(to: directory.appending(path: "b"))
                try Data("old".utf8).write(to: directory.appending(path: "c"))
            }
            #expect(run.status == status && run.names == ["b", "c", "list"], "\(run.console.error)")
            let lines = run.console.output.split(separator: "\n")
            #expect(
                lines.map { $0.prefix { $0 != " " } } == ["download", expected[...], "verify"], "\(run.console.output)")
            #expect(run.console.output.contains("/new/a  from http://127.0.0.1"))
            #expect(!run.console.output.contains("secret"))
            #expect(run.console.error.contains("--no-clobber") == (status == .localFile))
        }
    }

    @Test(arguments: [["-o", "-"], ["--db", "{dir}/q.db"], ["--progress", "json"]])
    func `can't be combined with what it doesn't do`(options: [String]) async throws {
        let run = try await Scenario.run(["get", "--dry-run"] + options + ["{origin}/a"])
        #expect(run.status == .usage && run.console.error.contains("can't be combined") && run.names == [])
    }
}
