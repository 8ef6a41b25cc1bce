import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Header fields and passwords` {
    private static let basic = "Basic \(Data("ann:s3cret".utf8).base64EncodedString())"
    private static let names: [HTTPField.Name] = [
        .authorization, .userAgent, .referer, .cookie, .init("X-One")!, .init("X-Two")!,
    ]

    /// Answers with the fields that the tests set, one per line.
    @Sendable private static func echo(_ request: OriginRequest) -> OriginResponse {
        let lines = names.compactMap { name in request.headerFields[name].map { "\(name): \($0)\n" } }
        return OriginResponse(body: Array(lines.joined().utf8))
    }

    /// Asks for a password at `/basic` and `/digest`, and answers as `echo` does elsewhere.
    @Sendable private static func answer(_ request: OriginRequest) -> OriginResponse {
        let field = request.headerFields[.authorization] ?? ""
        switch request.target {
        case "/basic" where field != basic:
            return OriginResponse(status: 401, headerFields: [.wwwAuthenticate: "Basic realm=\"x\""])
        case "/digest" where !field.hasPrefix("Digest username=\"ann\""):
            return OriginResponse(
                status: 401,
                headerFields: [.wwwAuthenticate: "Digest realm=\"x\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256"],
                body: Array("no".utf8))
        case "/digest": return OriginResponse(body: Array("the content".utf8))
        default: return echo(request)
        }
    }

    private struct Outcome {
        var status: ExitStatus
        var console: RecordedConsole
        /// The contents of the downloaded files, by name.
        var files: [String: String]
    }

    private static func run(
        _ arguments: [String], files: [String: String] = [:], home: String? = nil,
        _ answer: @escaping @Sendable (OriginRequest) -> OriginResponse = { answer($0) }
    ) async throws -> Outcome {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve {
                answer($0)
            } during: { origin in
                func filled(_ text: String) -> String {
                    text.replacing("{origin}", with: "http://127.0.0.1:\(origin.port)")
                        .replacing("{dir}", with: directory.path)
                }
                for (name, text) in files {
                    try Data(filled(text).utf8).write(to: directory.appending(path: name))
                }
                let recorded = RecordedConsole()
                var console = recorded.console
                console.homeDirectory = directory.path
                let status = await SluiceProgram.run(arguments.map(filled), console: console)
                let out = directory.appending(path: "out")
                let names = (try? FileManager.default.contentsOfDirectory(atPath: out.path)) ?? []
                return Outcome(
                    status: status, console: recorded,
                    files: try names.reduce(into: [:]) {
                        $0[$1] = try String(contentsOf: out.appending(path: $1), encoding: .utf8)
                    })
            }
        }
    }

    private static let get = ["get", "-q", "--retries", "0", "-d", "{dir}/out"]

    @Test(
        arguments: [
            (["-H", "X-One: 1", "--header", "x-two:2", "{origin}/a"], ["X-One: 1", "X-Two: 2"]),
            (["-H", "@{dir}/fields", "{origin}/a"], ["X-One: 1", "X-Two: a b"]),
            (["-H", "Cookie: a=b; c=d", "{origin}/a"], ["Cookie: a=b; c=d"]),
            (["-H", "User-Agent: me/1", "{origin}/a"], ["User-Agent: me/1"]),
            (
                ["--user-agent", "me/2", "--referer", "https://b.example/x?y", "{origin}/a"],
                ["User-Agent: me/2", "Referer: https://b.example/x?y"]
            ),
            (["--bearer-file", "{dir}/token", "{origin}/a"], ["Authorization: Bearer t0ken"]),
            (["--auth", "ann:s3cret", "{origin}/a"], []),
            (["--auth", "ann:s3cret", "-o", "a", "{origin}/basic"], ["Authorization: \(basic)"]),
            (["--auth", "@{dir}/password", "-o", "a", "{origin}/basic"], ["Authorization: \(basic)"]),
            (["--netrc", "-o", "a", "{origin}/basic"], ["Authorization: \(basic)"]),
            (["--netrc-file", "{dir}/.netrc", "-o", "a", "{origin}/basic"], ["Authorization: \(basic)"]),
        ] as [([String], [String])])
    func `are sent as the options say`(arguments: [String], expected: [String]) async throws {
        let run = try await Self.run(
            Self.get + arguments,
            files: [
                "fields": "X-One: 1\r\n\r\nX-Two:  a b \n", "token": "t0ken\n", "password": "ann:s3cret\nignored\n",
                ".netrc": "machine 127.0.0.1 login ann password s3cret",
            ])
        #expect(run.status == .success, "\(run.console.error)")
        let lines = run.files["a", default: "missing"].split(separator: "\n").map(String.init)
        let usual = lines.filter { !$0.hasPrefix("User-Agent: sluice/") }
        #expect(Set(usual) == Set(expected))
    }

    @Test func `answer a server that asks for Digest authentication`() async throws {
        let run = try await Self.run(Self.get + ["--auth", "ann:s3cret", "{origin}/digest"])
        #expect(run.status == .success, "\(run.console.error)")
        #expect(run.files == ["digest": "the content"])
    }

    @Test func `don't follow a redirect to another port`() async throws {
        try await LoopbackOrigin.serve {
            Self.echo($0)
        } during: { other in
            let target = other.url("/there")
            let run = try await Self.run(
                Self.get + [
                    "-H", "X-One: 1", "-H", "Cookie: a=b", "--bearer-file", "{dir}/token", "--referer", "http://r/",
                    "{origin}/a",
                ],
                files: ["token": "t0ken"]
            ) { _ in .redirect(to: target) }
            #expect(run.status == .success, "\(run.console.error)")
            #expect(run.files["a"]?.hasPrefix("User-Agent: sluice/") == true && run.files["a"]?.contains("X-") == false)
            #expect(run.files["a"]?.split(separator: "\n").count == 1)
        }
    }

    @Test(arguments: [["--auth", "ann:wrong"], []])
    func `that are wrong or missing give a message that names the options`(options: [String]) async throws {
        let run = try await Self.run(Self.get + options + ["{origin}/basic"])
        #expect(run.status == .authentication && run.files.isEmpty)
        #expect(run.console.error.contains("401 Unauthorized") && run.console.error.contains("--auth or --netrc"))
    }

    @Test func `are in no output, trace or queue`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let texts = Recorder<String>()
            try await LoopbackOrigin.serve { request in
                let all = request.headerFields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
                return OriginResponse(
                    status: request.attempt == 1 ? 401 : 404,
                    headerFields: [
                        .wwwAuthenticate: "Basic realm=\"x\"", .init("X-Echo")!: all, .server: "ann:hush-Secret",
                    ])
            } during: { origin in
                try Data("Bearer-hush-Secret".utf8).write(to: directory.appending(path: "token"))
                let get = [
                    "get", "--retries", "1", "--progress", "json", "-d", directory.path, "--db",
                    directory.appending(path: "queue.db").path, "--trace", directory.appending(path: "trace").path,
                ]
                for options in [
                    ["-H", "X-Mine: hush-Secret", "--auth", "ann:hush-Secret"],
                    ["-H", "X-Mine: hush-Secret", "--bearer-file", directory.appending(path: "token").path],
                ] {
                    let console = RecordedConsole()
                    let status = await SluiceProgram.run(get + options + [origin.url("/a")], console: console.console)
                    #expect(status == .http || status == .authentication)
                    texts.note(console.output + console.error)
                }
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) where name != "token" {
                texts.note(String(decoding: try Data(contentsOf: directory.appending(path: name)), as: UTF8.self))
            }
            #expect(texts.values.contains { $0.contains("X-Mine: (left out)") })
            for text in texts.values {
                let isSecret = `A secret in an argument or in the environment`.isSecret
                #expect(!isSecret(text), "\(text.split(separator: "\n").filter { isSecret(String($0)) })")
            }
        }
    }

    @Test(
        arguments: [
            (["-H", "hush-Secret"], "-H: A field is written 'Name: value'"),
            (["-H", "bad name: hush-Secret"], "-H: A field is written 'Name: value'"),
            (["-H", "X: hush\u{1}Secret"], "-H X: The value has a control character"),
            (["-H", "Range: bytes=1-"], "-H Range: sluice sends this field itself"),
            (["-H", "accept-encoding: gzip"], "-H accept-encoding: sluice sends this field itself"),
            (["-H", "@"], "-H: The file has no name"),
            (["--auth", "hush-Secret"], "--auth: The user name and the password are written name:password"),
            (["--auth", ":hush-Secret"], "--auth: The user name and the password are written name:password"),
            (["--auth", "ann:hush\nSecret"], "--auth: The user name or the password has a control character"),
            (["--auth", "ann:x", "--bearer-file", "f"], "--auth and --bearer-file can't be combined"),
            (["--referer", ""], "--referer"), (["--user-agent", "a\nb"], "--user-agent"),
            (["--auth", "@-", "--bearer-file", "-"], "can't be combined"),
            (["--auth", "@-", "-H", "@-"], "standard input"),
            (["--auth", "@-", "-i", "-"], "standard input"), (["--netrc-file", ""], "--netrc-file"),
            (["--auth", "ann:x", "--cache"], "--cache"),
        ] as [([String], String)])
    func `that are written wrongly are refused, without repeating the value`(
        options: [String], expected: String
    ) async throws {
        let run = try await Self.run(Self.get + options + ["{origin}/a"])
        #expect(run.status == .usage && run.files.isEmpty)
        #expect(run.console.errorLines.count == 1 && run.console.error.contains(expected), "\(run.console.error)")
        #expect(run.console.error.contains("See 'sluice get --help'"))
        #expect(!run.console.error.lowercased().contains("hush"))
    }

    @Test(
        arguments: [
            (["--auth", "@{dir}/none"], ExitStatus.localFile, "--auth: "),
            (["-H", "@{dir}/none"], .localFile, "-H: "),
            (["--bearer-file", "{dir}/none"], .localFile, "--bearer-file: "),
            (["--netrc"], .localFile, "--netrc: "), (["--netrc-file", "{dir}/none"], .localFile, "--netrc-file: "),
            (["--auth", "@{dir}/secret"], .usage, "--auth: The user name and the password are written"),
            (["-H", "@{dir}/secret"], .usage, "-H @{dir}/secret: A field is written"),
            (["--bearer-file", "{dir}/empty"], .usage, "--bearer-file {dir}/empty: The first line isn't a token"),
            (["--netrc-file", "{dir}/secret"], .usage, "--netrc-file: {dir}/secret: Line 1: "),
        ] as [([String], ExitStatus, String)])
    func `that come from an unusable file are refused before the first request`(
        options: [String], status: ExitStatus, expected: String
    ) async throws {
        let run = try await Self.run(
            Self.get + options + ["{origin}/a"], files: ["secret": "hush-Secret\n", "empty": "\nx"])
        #expect(run.status == status && run.files.isEmpty)
        let parts = expected.components(separatedBy: "{dir}")
        #expect(parts.allSatisfy(run.console.error.contains), "\(run.console.error)")
        #expect(!run.console.error.lowercased().contains("hush"))
    }

    @Test func `of a worker go only to the origins that its options name`() async throws {
        try await LoopbackOrigin.serve {
            Self.echo($0)
        } during: { other in
            try await QueueScene.run(on: .file) {
                Self.answer($0)
            } during: { scene in
                await scene.add(["/a", "/basic"])
                _ = await scene.queue("add", "-d", scene.files.path, other.url("/b"))
                let origin = scene.origin.url("")
                let options = ["-H", "X-One: 1", "--auth", "ann:s3cret", "--until-empty", "-q", "--retries", "0"]
                let refused = await scene.queue("work", options)
                #expect(refused.status == .usage && refused.error.contains("--for-origin"))
                let path = await scene.queue("work", options + ["--for-origin", "\(origin)/a"])
                #expect(path.status == .usage && path.error.contains("--for-origin"))
                let worked = await scene.queue("work", options + ["--for-origin", origin])
                #expect(worked.status == .success, "\(worked.error)")
                func text(_ name: String) throws -> String {
                    try String(contentsOf: scene.files.appending(path: name), encoding: .utf8)
                }
                #expect(try text("a").contains("X-One: 1"))
                #expect(try text("basic").contains("Authorization: \(Self.basic)"))
                let other = try text("b")
                #expect(!other.contains("X-One") && !other.contains("Authorization"))
            }
        }
    }
}
