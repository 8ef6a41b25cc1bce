import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `The configuration file` {
    private static func lines(_ text: String) throws -> [String] {
        try ConfigurationFile(text, path: "config").lines.map { "\($0.number) \($0.arguments.joined(separator: " "))" }
    }

    @Test(
        arguments: [
            ("", []), ("# a\n\n  # b\n", []), ("limit-rate 2M", ["1 --limit-rate=2M"]),
            ("--limit-rate=2M\r\n\tcompressed \r\n", ["1 --limit-rate=2M", "2 --compressed"]),
            ("limit-rate  =  2M", ["1 --limit-rate=2M"]), ("header = X: a=b", ["1 --header=X: a=b"]),
            ("header X: 1\nheader Y: 2", ["1 --header=X: 1", "2 --header=Y: 2"]),
            ("user-agent =", ["1 --user-agent="]), ("http1.1", ["1 --http1.1"]),
        ] as [(String, [String])])
    func `has an option in each line`(text: String, expected: [String]) throws {
        #expect(try Self.lines(text) == expected)
    }

    @Test(
        arguments: [
            ("\nno-such-option", "config:2: No command has an option"), ("q", "config:1: No command has an option"),
            ("limit-rate", "config:1: --limit-rate needs a value"),
            ("compressed = yes", "config:1: --compressed takes no value"),
            ("help", "config:1: No command"), ("no-config", "config:1: No command"),
            ("version", "config:1: No command"),
            ("=", "config:1: No command"), ("proxy = a\u{0}b", "config:1: The value of --proxy has a zero byte"),
            ("{\"limit-rate\": 1}", "config:1: No command"), ("lìmit-rate 1", "config:1: No command"),
        ] as [(String, String)])
    func `with a mistake is an error that names the file and the line`(text: String, expected: String) {
        let failure = #expect(throws: CommandFailure.self) { try Self.lines(text) }
        #expect(
            failure?.status == .usage && failure?.lines.first?.hasPrefix(expected) == true, "\(failure?.lines ?? [])")
    }

    @Test(arguments: 0..<20) func `of random bytes never traps`(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let words = [
            "limit-rate", "=", " ", "\n", "#", "--", "header", "\u{0}", "é", "=\u{301}", "2M", "\u{2028}", "\t",
            "compressed",
        ]
        for _ in 0..<200 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in words.randomElement(using: &random)! }
                .joined()
            _ = try? Self.lines(text)
        }
    }

    private static func run(_ config: String, _ arguments: [String]) async throws -> (
        ExitStatus, RecordedConsole, String
    ) {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                OriginResponse(body: Array("\(request.headerFields[.userAgent] ?? "none")".utf8))
            } during: { origin in
                func filled(_ text: String) -> String {
                    text.replacing("{origin}", with: origin.url("")).replacing("{dir}", with: directory.path)
                }
                let file = directory.appending(path: "config")
                try Data(filled(config).utf8).write(to: file)
                let recorded = RecordedConsole()
                var console = recorded.console
                console.configurationFile = file
                let status = await SluiceProgram.run(arguments.map(filled), console: console)
                let text = try? String(contentsOf: directory.appending(path: "out/a"), encoding: .utf8)
                return (status, recorded, text ?? "missing")
            }
        }
    }

    private static let get = ["get", "--retries", "0", "{origin}/a"]

    @Test func `applies to the command, and an argument replaces its value`() async throws {
        // `--json` is an option of other commands.
        let config = "user-agent = from the file\ndirectory {dir}/out\nquiet\njson\n"
        let (status, console, text) = try await Self.run(config, Self.get)
        #expect(status == .success && text == "from the file" && console.error.isEmpty, "\(console.error)")
        let (_, _, replaced) = try await Self.run(config, Self.get + ["--user-agent", "mine"])
        #expect(replaced == "mine")
        let (_, _, left) = try await Self.run("user-agent file", Self.get + ["--no-config", "-q", "-d", "{dir}/out"])
        #expect(left.hasPrefix("sluice/"))
    }

    @Test(
        arguments: [
            ("# x\njobs = many", [], "{dir}/config:2: The value 'many'"), ("jobs = 0", [], "{dir}/config:1: -j 0: "),
            ("limit-rate = 0", [], "{dir}/config:1: --limit-rate 0"),
            ("limit-rate 0", ["--limit-rate", "0"], "--limit-rate 0"),
            ("no-such", [], "{dir}/config:1: No command"), ("resolve = x", [], "{dir}/config:1: --resolve x: "),
            ("jobs = 2", ["--no-such"], "Unknown option '--no-such'"),
        ] as [(String, [String], String)])
    func `is named if one of its values is wrong, and only then`(
        config: String, options: [String], expected: String
    ) async throws {
        let (status, console, text) = try await Self.run(config, Self.get + options)
        let parts = expected.components(separatedBy: "{dir}").filter { !$0.isEmpty }
        #expect(status == .usage && text == "missing")
        #expect(parts.allSatisfy(console.error.contains) && console.errorLines.count == 1, "\(console.error)")
        #expect(console.error.contains("config:") == expected.contains("config:"))
    }

    @Test(arguments: [["get", "--help"], ["--version"], ["help", "get"]])
    func `with a mistake doesn't keep anyone from the help`(arguments: [String]) async throws {
        let (status, console, _) = try await Self.run("no-such", arguments)
        #expect(status == .success && console.error.isEmpty)
    }

    @Test(
        arguments: [
            ([:], nil), (["HOME": "/home/ann"], "/home/ann/.config/sluice/config"),
            (["HOME": "/h", "XDG_CONFIG_HOME": "/x"], "/x/sluice/config"),
            (["HOME": "/h", "XDG_CONFIG_HOME": "x"], "/h/.config/sluice/config"), (["HOME": "h"], nil),
        ] as [([String: String], String?)])
    func `is in the directory that XDG names`(environment: [String: String], expected: String?) {
        #expect(Console.configurationFile(environment: environment)?.path == expected)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Lists with header fields and JSON lines` {
    private static func parse(_ text: String) -> (entries: [GetList.Entry], problems: [String]) {
        let list = GetList(text, name: "l")
        return (list.entries, list.problems)
    }

    @Test func `a JSON line has the same options as indented lines`() {
        let text = """
            https://a.example/1
              out=b.mp3
              dir=c
              user=d
              checksum=e
              header=X: 1
              header=Y: 2=3
              referer=f
            {"url": "https://a.example/1", "out": "b.mp3", "dir": "c", "user": "d", "checksum": "e", "header": ["X: 1", "Y: 2=3"], "referer": "f"}
             # a comment
            {"header":"X: 1","url":"https:\\/\\/a.example\\/2"}\r
            https://a.example/3
            """
        let (entries, problems) = Self.parse(text)
        #expect(problems.isEmpty && entries.count == 4, "\(problems)")
        var first = entries[0]
        first.place = entries[1].place
        #expect(first == entries[1] && first.headers == ["X: 1", "Y: 2=3"] && entries[1].place == "l:9")
        #expect(entries[2].url == "https://a.example/2" && entries[2].headers == ["X: 1"])
    }

    @Test(
        arguments: [
            ("{", "isn't a JSON object"), ("{}", "has no URL"), ("{\"url\": 1}", "The value of 'url' isn't a text"),
            ("{\"url\": \"\"}", "has no URL"), ("{\"url\": \"u\", \"size\": \"1\"}", "The key 'size' is unknown"),
            ("{\"url\": [\"u\"]}", "The value of 'url' isn't a text"), ("{\"url\": \"u\"} x", "isn't a JSON object"),
            ("{\"url\": \"u\", \"out\": null}", "The value of 'out' isn't a text"),
            ("{\"url\": \"u\", \"header\": [1]}", "The value of 'header' isn't a text"),
            ("{\"url\": \"u\", \"out\": \"a\\u0000\"}", "has a zero byte"),
            ("{\"url\": \"u\"}\n  out=x", "can't follow a JSON object"), ("u\n  size=1", "'size' is unknown"),
            (String(repeating: "{\"url\":", count: 10_000), "isn't a"),
        ] as [(String, String)])
    func `a line with a mistake is reported with its number`(text: String, expected: String) {
        let (_, problems) = Self.parse("\n" + text)
        #expect(problems.count == 1 && problems[0].contains(expected), "\(problems)")
        #expect(problems.first?.hasPrefix(text.contains("\n") ? "l:3: " : "l:2: ") == true)
    }

    @Test func `a download's own header fields replace those of the options`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                let names: [HTTPField.Name] = [.init("X-One")!, .init("X-Two")!, .referer]
                return OriginResponse(
                    body: Array(
                        names.map { request.headerFields[values: $0].joined(separator: "|") }.joined(separator: ",")
                            .utf8))
            } during: { origin in
                let list = """
                    \(origin.url("/a"))
                      header=X-One: own
                      referer=r
                    {"url": "\(origin.url("/b"))", "header": "x-two: own"}
                    """
                let file = directory.appending(path: "list")
                try Data(list.utf8).write(to: file)
                let console = RecordedConsole()
                let get = ["get", "-q", "-d", directory.path, "-i", file.path]
                let status = await SluiceProgram.run(get + ["-H", "X-One: 1"], console: console.console)
                #expect(status == .success, "\(console.error)")
                func text(_ name: String) throws -> String {
                    try String(contentsOf: directory.appending(path: name), encoding: .utf8)
                }
                let found = (try text("a"), try text("b"))
                #expect(found == ("own,,r", "1,own,"))
                let stored = RecordedConsole()
                let db = ["--db", directory.appending(path: "q.db").path]
                #expect(await SluiceProgram.run(get + db, console: stored.console) == .usage)
                #expect(
                    stored.errorLines.count == 2 && stored.error.contains("list:1: header=: A queue stores no header"))
                let added = RecordedConsole()
                let add = ["queue", "add"] + db + get.dropFirst(2)
                #expect(await SluiceProgram.run(Array(add), console: added.console) == .usage)
                #expect(added.error.contains("header=: A queue stores no header fields"), "\(added.error)")
            }
        }
    }

    @Test func `a wrong header field is reported without its value`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "list")
            try Data(
                "http://127.0.0.1:1/a\n  header=hush\n{\"url\": \"http://127.0.0.1:1/b\", \"header\": \"Range: hush\"}"
                    .utf8
            )
            .write(to: file)
            let console = RecordedConsole()
            let status = await SluiceProgram.run(
                ["get", "-i", file.path, "-d", directory.path], console: console.console)
            #expect(status == .usage && console.errorLines.count == 2, "\(console.error)")
            #expect(console.error.contains("list:1: header=: A field is written 'Name: value'"))
            #expect(console.error.contains("list:3: header= Range: sluice sends this field itself"))
            #expect(!console.error.contains("hush"))
        }
    }
}
