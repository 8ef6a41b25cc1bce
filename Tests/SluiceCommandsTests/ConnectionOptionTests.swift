import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Connection, cookie and compression options` {
    private struct Outcome {
        var status: ExitStatus
        var console: RecordedConsole
        /// The contents of the files in the directory `out`, by name, and of the cookie file as "jar".
        var files: [String: String]
        var mode: Int?
    }

    @Sendable private static func answer(_ request: OriginRequest) -> OriginResponse {
        switch request.target {
        case "/login":
            return OriginResponse(status: 302, headerFields: [.setCookie: "sid=hush-Secret; Path=/", .location: "/a"])
        case "/named?x":
            return OriginResponse(
                headerFields: [.contentDisposition: "attachment; filename=\"song.mp3\""], body: Array("song".utf8))
        case "/gzip" where request.headerFields[.acceptEncoding]?.contains("gzip") == true:
            return OriginResponse(headerFields: [.contentEncoding: "gzip"], body: gzipOfHelloWorlds)
        default:
            let fields = [HTTPField.Name("Host")!, .cookie].map {
                request.headerFields[values: $0].joined(separator: "|")
            }
            return OriginResponse(body: Array(fields.joined(separator: "\n").utf8))
        }
    }

    private static func run(_ arguments: [String], jar: String? = nil) async throws -> Outcome {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve {
                answer($0)
            } during: { origin in
                func filled(_ text: String) -> String {
                    text.replacing("{port}", with: "\(origin.port)").replacing("{dir}", with: directory.path)
                        .replacing("{origin}", with: "http://127.0.0.1:\(origin.port)")
                }
                let file = directory.appending(path: "jar")
                if let jar { try Data(jar.utf8).write(to: file) }
                let console = RecordedConsole()
                let get = ["get", "--progress", "lines", "--retries", "0", "-d", "{dir}/out"]
                let status = await SluiceProgram.run((get + arguments).map(filled), console: console.console)
                let out = directory.appending(path: "out")
                var files: [String: String] = [:]
                for name in (try? FileManager.default.contentsOfDirectory(atPath: out.path)) ?? [] {
                    files[name] = try String(contentsOf: out.appending(path: name), encoding: .utf8)
                        .replacing(":\(origin.port)", with: "")
                }
                files["jar"] = try? String(contentsOf: file, encoding: .utf8)
                let mode = try? FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
                return Outcome(status: status, console: console, files: files, mode: mode)
            }
        }
    }

    @Test(
        arguments: [
            (["--resolve", "a.invalid:{port}:127.0.0.1", "http://a.invalid:{port}/a"], "a.invalid\n"),
            (["-4", "{origin}/a"], "127.0.0.1\n"), (["-6", "--ipv4", "{origin}/a"], "127.0.0.1\n"),
            (["--http2", "{origin}/a"], "127.0.0.1\n"), (["--http2", "--http1.1", "{origin}/a"], "127.0.0.1\n"),
            (["--interface", "127.0.0.1", "{origin}/a"], "127.0.0.1\n"),
            (["--cookie", "a=b; c=d", "--cookie", "e=", "{origin}/a"], "127.0.0.1\na=b; c=d; e="),
        ] as [([String], String)])
    func `apply to the requests`(options: [String], expected: String) async throws {
        let run = try await Self.run(options)
        #expect(run.status == .success, "\(run.console.error)")
        #expect(run.files["a"] == expected)
    }

    @Test(
        arguments: [
            (["--resolve", "a.example"], "--resolve a.example: The text isn't HOST:PORT:ADDRESS. Write"),
            (["--resolve", "a:80:b"], "--resolve a:80:b: An address isn't"),
            (["--interface", "no-such-one"], "--interface no-such-one: This machine has no network interface"),
            (["--unix-socket", ""], "--unix-socket: The path is empty"),
            (["--unix-socket", "s", "--proxy", "http://a:1"], "--unix-socket and --proxy can't be combined"),
            (["--unix-socket", "s", "--interface", "127.0.0.1"], "--unix-socket and --interface can't be combined"),
            (["--cookie", "hush-Secret"], "--cookie: A cookie is written 'name=value'"),
            (["--cookie", "=hush-Secret"], "--cookie: A cookie is written 'name=value'"),
            (["--cookie", "a=hush\nSecret"], "--cookie: A cookie is written 'name=value'"),
            (["--cookie", ";"], "--cookie: The cookie is empty"),
            (["--cookie-jar", ""], "--cookie-jar: The file has no name"),
            (["--cookie-jar", "-"], "--cookie-jar -: The cookies are written back"),
            (["--cookie-jar", "j", "--cache"], "--cookie-jar can't be combined with --cache"),
            (["--compressed", "--cache"], "--compressed can't be combined with --cache"),
            (["--compressed", "--segments", "2"], "--segments and --compressed can't be combined"),
        ] as [([String], String)])
    func `that are wrong are refused with a remedy`(options: [String], expected: String) async throws {
        let run = try await Self.run(options + ["{origin}/a"])
        #expect(run.status == .usage && run.files.isEmpty)
        #expect(run.console.errorLines.count == 1 && run.console.error.contains(expected), "\(run.console.error)")
        #expect(run.console.error.contains("See 'sluice get --help'") && !run.console.error.contains("hush"))
    }

    @Test func `a cookie jar is created, and its cookies reach the redirect's target and the next file`() async throws {
        let run = try await Self.run(["-j", "1", "--cookie-jar", "{dir}/jar", "{origin}/login", "{origin}/b"])
        #expect(run.status == .success, "\(run.console.error)")
        #expect(run.files["login"] == "127.0.0.1\nsid=hush-Secret" && run.files["b"] == run.files["login"])
        #expect(run.files["jar"]?.contains("\tsid\thush-Secret\n") == true && run.mode == 0o600)
        #expect(!(run.console.error + run.console.output).contains("hush"))
    }

    @Test func `a cookie jar is replaced, and only its owner can read it then`() async throws {
        let jar = "# mine\n127.0.0.1\tFALSE\t/\tFALSE\t4000000000\told\t1\n"
        let run = try await Self.run(["--cookie-jar", "{dir}/jar", "{origin}/login"], jar: jar)
        #expect(
            run.status == .success && run.files["login"] == "127.0.0.1\nold=1; sid=hush-Secret"
                || run.files["login"] == "127.0.0.1\nsid=hush-Secret; old=1")
        #expect(run.files["jar"]?.contains("\told\t1\n") == true && run.mode == 0o600)
    }

    @Test(
        arguments: [
            ("ALL", ["--cookie-jar", "{dir}/jar"], ExitStatus.usage, "Line 1: It isn't a cookie."),
            ("[{\"hush\": \"Secret\"}]", ["--cookie-jar", "{dir}/jar"], .usage, "Line 1"),
            ("", ["--cookie-jar", "{dir}"], .localFile, "--cookie-jar: "),
            ("", ["--cookie-jar", "{dir}/none/jar"], .localFile, "--cookie-jar: "),
        ] as [(String, [String], ExitStatus, String)])
    func `an unusable cookie jar is reported`(
        jar: String, options: [String], status: ExitStatus, expected: String
    ) async throws {
        let run = try await Self.run(options + ["{origin}/login"], jar: jar)
        #expect(run.status == status && run.console.error.contains(expected), "\(run.console.error)")
        #expect(!run.console.error.contains("hush"))
        if status == .usage { #expect(run.files["jar"] == jar && run.files["login"] == nil) }
    }

    @Test func `a compressed file is stored decoded`() async throws {
        let run = try await Self.run(["--compressed", "{origin}/gzip"])
        #expect(run.status == .success && run.files["gzip"] == String(repeating: "hello world\n", count: 20_000))
        let tooLarge = try await Self.run(["--compressed", "--max-size", "200k", "{origin}/gzip"])
        #expect(tooLarge.status == .other && tooLarge.files.isEmpty, "\(tooLarge.console.error)")
    }

    @Test(arguments: ["lines", "json"]) func `the server's name is shown and used`(style: String) async throws {
        let run = try await Self.run(["--progress", style, "--content-disposition", "{origin}/named?x", "{origin}/b"])
        #expect(run.status == .success && run.files.keys.sorted() == ["b", "song.mp3"], "\(run.console.error)")
        let shown = run.console.error + run.console.output
        #expect(shown.contains(style == "json" ? "\"event\":\"named\",\"file\":\"song.mp3\"" : "song.mp3  "))
        let last = shown.split(separator: "\n").filter { $0.contains("\"done\",") }
        #expect(style != "json" || last.contains { $0.contains("song.mp3") })
    }

    @Test(
        arguments: [
            (["-o", "x"], "--content-disposition and -o can't be combined. Use only one."),
            (["--db", "{dir}/q.db"], "--content-disposition and --db can't be combined."),
        ] as [([String], String)])
    func `the server's name excludes other names`(options: [String], expected: String) async throws {
        let run = try await Self.run(options + ["--content-disposition", "{origin}/a"])
        #expect(
            run.status == .usage && run.files.isEmpty && run.console.error.contains(expected), "\(run.console.error)")
    }

    @Test func `each user of a queue has a cookie jar`() async throws {
        try await QueueScene.run(on: .file) { request in
            let cookies = request.headerFields[.cookie] ?? "none"
            return OriginResponse(
                headerFields: [.setCookie: "of=\(request.target.dropFirst().prefix(3)); Path=/"],
                body: Array(cookies.utf8))
        } during: { scene in
            let jar = scene.files.appending(path: "jar").path
            for round in 1...2 {
                for user in ["ann", "bob", ""] {
                    let name = user.isEmpty ? "all" : user
                    let owner = user.isEmpty ? [] : ["--user", user]
                    _ = await scene.queue(
                        "add", ["-d", scene.files.path] + owner + [scene.origin.url("/\(name)\(round)")])
                }
                let worked = await scene.queue("work", ["--until-empty", "-q", "-j", "1", "--cookie-jar", jar])
                #expect(worked.status == .success, "\(worked.error)")
            }
            func text(_ name: String) throws -> String {
                try String(contentsOf: scene.files.appending(path: name), encoding: .utf8)
            }
            for (name, file) in [("ann", "jar.ann"), ("bob", "jar.bob"), ("all", "jar")] {
                let found = (try text("\(name)1"), try text("\(name)2"), try text(file))
                #expect(found.0 == "none" && found.1 == "of=\(name)" && found.2.contains("\tof\t\(name)\n"))
            }
            let refused = await scene.queue("work", ["--until-empty", "--cookie", "a=b"])
            #expect(refused.status == .usage && refused.error.contains("--for-origin"))
        }
    }
}
