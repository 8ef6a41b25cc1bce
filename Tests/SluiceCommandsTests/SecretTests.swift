import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

/// Commands that fail, or are mistyped, with a secret in their arguments. The secret is `hush-Secret`.
@Suite(.timeLimit(.minutes(15))) struct `A secret in an argument or in the environment` {
    private static let forms = [
        "hush-secret", "hush%2dsecret", "hush/secret", "hush@secret", "hush",
        Data("ann:hush-Secret".utf8).base64EncodedString().lowercased(),
    ]

    static func isSecret(_ text: String) -> Bool {
        let text = text.lowercased()
        return forms.contains(where: text.contains)
    }

    private static let get = [
        "get", "--retries", "1", "--progress", "json", "-v", "--trace", "{dir}/trace", "-d", "{dir}",
    ]
    private static let withQueue = get + ["--db", "{dir}/q.db"]

    static let commands: [[String]] = [
        // Proxies.
        withQueue + ["--proxy", "http://ann:hush-Secret@127.0.0.1:1", "{origin}/a"],
        withQueue + ["--proxy", "http://ann:hush-Secret@no-such-proxy.invalid:1", "{origin}/a"],
        withQueue + ["--proxy", "http://ann:hush%2DSecret@127.0.0.1:1", "{tls}/a"],
        withQueue + ["--proxy", "socks5h://ann:hush-Secret@127.0.0.1:1", "{origin}/a"],
        withQueue + ["--proxy", "https://ann:hush-Secret@{authority}", "{origin}/a"],
        get + ["--proxy", "http://ann:hush-Secret@127.0.0.1:99999", "{origin}/a"],
        get + ["--proxy", "http://ann:hush-Secret@127.0.0.1:x", "{origin}/a"],
        get + ["--proxy", "http://ann:hush/Secret@127.0.0.1:1", "{origin}/a"],
        get + ["--proxy", "http://ann:hush@Secret@127.0.0.1:1", "{origin}/a"],
        get + ["--proxy", "http://ann:hush%0aSecret@127.0.0.1:1", "{origin}/a"],
        get + ["--proxy", "ann:hush-Secret@://x", "{origin}/a"],
        get + ["--proxy", "ann:hush-Secret@", "{origin}/a"],
        // URLs that can be requested.
        get + ["http://ann:hush-Secret@{authority}/404?sig=hush-Secret#hush-Secret"],
        get + ["http://ann:hush-Secret@127.0.0.1:1/a?sig=hush-Secret"],
        get + ["http://hush-Secret@no-such-host.invalid/a?hush-Secret"],
        get + ["https://ann:hush-Secret@{authority}/a"],
        get + ["http://ann:hush-Secret@{authority}/loop"],
        get + ["http://ann:hush-Secret@{authority}/short?sig=hush-Secret"],
        withQueue + ["http://ann:hush-Secret@{authority}/a"],
        // URLs that can't.
        ["get", "ann:hush-Secret@a.example/x"], ["get", "ann:hush-Secret@a.example"],
        ["get", "http://ann:hush/Secret@a.example/x"], ["get", "http://ann:hush-Secret@a.example:99999/x?hush-Secret"],
        ["get", "http://ann:hush?Secret@a.example:x/"], ["get", "http://ann:hush#Secret@a.example:x/"],
        ["get", "http://a.example:x/?mail=ann@hush-Secret"], ["get", "ftp://ann:hush-Secret@a.example/"],
        ["get", "http://ann:hush\u{1}Secret@a.example/"], ["get", "//ann:hush-Secret@a.example/"],
        ["get", "http://ann:hush-Secret@[::1/"], ["get", "ftp://ann:hush/Secret@a.example/"],
        // In the wrong place.
        ["get", "-i", "https://ann:hush-Secret@a.example/list"],
        ["get", "-o", "http://ann:hush-Secret@a/", "{origin}/a"],
        ["get", "--retries", "http://ann:hush-Secret@a.example/", "{origin}/a"],
        ["get", "--http://ann:hush-Secret@a.example/", "{origin}/a"],
        ["http://ann:hush-Secret@a.example/"], ["cache", "stats", "http://ann:hush-Secret@a.example/"],
        ["cache", "remove", "-d", "{dir}", "http://ann:hush-Secret@a.example:99999/"],
        ["show", "http://ann:hush-Secret@a.example/?sig=hush-Secret"],
        ["queue", "pause", "--db", "{dir}/q.db", "--host", "http://ann:hush-Secret@a.example/"],
        // Queues on servers.
        ["queue", "list", "--db", "postgres://ann:hush-Secret@127.0.0.1:1/x?password=hush-Secret"],
        ["queue", "list", "--db", "postgres://ann:hush-Secret@127.0.0.1:x/y"],
        ["queue", "list", "--db", "POSTGRESQL://ann:hush-Secret@127.0.0.1:1/x#%zz"],
        get + ["--db", "postgres://ann:hush-Secret@127.0.0.1:1/x", "{origin}/a"],
    ]

    @Test(arguments: commands) func `a secret is in no output, trace or queue`(arguments: [String]) async throws {
        let written = Recorder<String>()
        try await LoopbackOrigin.serve { request in
            switch request.target.prefix(5) {
            case "/loop": .redirect(to: "/loop")
            case "/shor": OriginResponse(announcedLength: 100, steps: [.hangUp])
            // The server repeats what it received.
            default:
                .verbatim(
                    "HTTP/1.1 404 \(request.target) \(request.headerFields[.authorization] ?? "")\r\n"
                        + "X-Echo: \(request.target) \(request.headerFields[.authorization] ?? "")\r\n"
                        + "Content-Length: 0\r\n\r\n")
            }
        } during: { origin in
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                func filled(_ text: String) -> String {
                    text.replacing("{origin}", with: "http://127.0.0.1:\(origin.port)")
                        .replacing("{tls}", with: "https://127.0.0.1:\(origin.port)")
                        .replacing("{authority}", with: "127.0.0.1:\(origin.port)")
                        .replacing("{dir}", with: directory.path)
                }
                let console = RecordedConsole()
                let status = await SluiceProgram.run(arguments.map(filled), console: console.console)
                #expect(status != .success)
                written.note(console.output)
                written.note(console.error)
                for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
                    let data = try Data(contentsOf: directory.appending(path: name))
                    written.note(String(decoding: data, as: UTF8.self))
                }
            }
        }
        #expect(written.values.contains { !$0.isEmpty })
        for text in written.values {
            #expect(!Self.isSecret(text), "\(text.split(separator: "\n").filter { Self.isSecret(String($0)) })")
        }
    }

    @Test(arguments: [
        ["http_proxy=http://ann:hush-Secret@127.0.0.1:x"], ["http_proxy=http://ann:hush-Secret@127.0.0.1:1"],
        ["all_proxy=ann:hush/Secret@127.0.0.1:1"], ["ALL_PROXY=socks5h://ann:hush-Secret@no-such-proxy.invalid"],
        ["http_proxy=foo://ann:hush-Secret@127.0.0.1:1"], ["http_proxy=http://ann:hush%0aSecret@127.0.0.1:1"],
    ])
    func `a secret in a proxy variable is in no output and in no queue`(variables: [String]) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let ended = try await ChildProcess.sluice(
                "cd \(directory.path) && \(variables.joined(separator: " ")) \"$@\"",
                [
                    "get", "--retries", "1", "--progress", "json", "--trace", "-", "--db", "q.db", "-d", ".",
                    "http://a.invalid/a",
                ])
            #expect(ended.status == ExitStatus.network.rawValue, "\(ended.error)")
            let queue = try Data(contentsOf: directory.appending(path: "q.db"))
            for text in [ended.output, ended.error, String(decoding: queue, as: UTF8.self)] {
                #expect(!Self.isSecret(text), "\(text.split(separator: "\n").filter { Self.isSecret(String($0)) })")
            }
            #expect(ended.output.contains("Couldn't use the proxy"))
        }
    }

    @Test func `a secret that a server repeats is in no trace`() {
        let trace = Trace()
        let request = TransportRequest(
            URL(string: "http://a.example/?sig=hush-Secret")!,
            headerFields: [.authorization: "Bearer hush-Secret", .cookie: "a=hush-Cookie"])
        let head = ResponseHead(
            status: .init(code: 401, reasonPhrase: "not hush-Secret"),
            headerFields: [.server: "hush-Cookie", .init("X-Echo")!: "got Bearer hush-Secret"])
        let steps: [TransportTrace.Step] = [.sent(request), .answered(head), .ended(nil)]
        let text = steps.map { trace.text(of: TransportTrace(exchange: 1, step: $0)) }.joined()
        #expect(!Self.isSecret(text), "\(text)")
        #expect(text.contains("401 not …") && text.contains("X-Echo: got …"))
    }
}
