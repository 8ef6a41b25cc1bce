import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `A served queue` {
    /// Starts `sluice queue serve` on a free port, and returns it and its address.
    private static func serve(_ scene: QueueScene, _ options: String...) async throws -> (ChildProcess, URL) {
        let output = scene.directory.appending(path: "serve.txt")
        let changes = try await FileIO.shared.changes(of: scene.directory, kinds: .modified)
        let command = [try builtProgram("sluice").path, "queue", "serve", "--db", scene.database]
        let server = try ChildProcess(
            URL(filePath: "/bin/sh"),
            ["-c", "exec \"$@\" > '\(output.path)'", "sh"] + command + ["--listen", "127.0.0.1:0"] + options)
        // The program writes the line with the address at once.
        for try await change in changes where change.name == "serve.txt" { break }
        let text = try String(contentsOf: output, encoding: .utf8)
        let address = try #require(text.firstMatch(of: /http:\S+/))
        return (server, try #require(URL(string: String(address.output))))
    }

    private static func get(_ url: URL, token: String? = nil) async throws -> (status: Int, text: String) {
        var request = TransportRequest(url)
        if let token { request.headerFields[.authorization] = "Bearer \(token)" }
        return try await HTTPTransport.withTransport(configuration: .init(proxy: .none)) { transport in
            let response = try await transport.open(request)
            var data = Data()
            for try await piece in response.body { data += piece }
            return (response.status.code, String(decoding: data, as: UTF8.self))
        }
    }

    @Test(arguments: QueueScene.Place.usable)
    func `the page shows the queue, and ends with status 7 after a signal`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            await scene.add(["/song.mp3"], "--user", "ann")
            let (server, url) = try await Self.serve(scene, "--base-path", "/queue/")
            #expect(url.path() == "/queue/")
            let page = try await Self.get(url)
            #expect(page.status == 200)
            #expect(page.text.contains("song.mp3") && page.text.contains(">ann</a>"))
            let list = try await Self.get(url.appending(path: "api/v1/downloads"))
            #expect(list.text.contains(#""code":"noWorker""#))
            server.signal(SIGINT)
            #expect(await server.end().status == 7)
        }
    }

    @Test func `a page with a token wants it`() async throws {
        try await QueueScene.run { scene in
            await scene.add(["/song.mp3"])
            let file = scene.directory.appending(path: "token")
            try Data("  0123456789abcdef \nsecond line\n".utf8).write(to: file)
            let (server, url) = try await Self.serve(scene, "--token-file", file.path, "--read-only")
            let api = url.appending(path: "api/v1/queue")
            #expect(try await Self.get(api).status == 401)
            let answer = try await Self.get(api, token: "0123456789abcdef")
            #expect(answer.status == 200)
            #expect(answer.text.contains(#""isReadOnly":true"#))
            server.signal(SIGTERM)
            #expect(await server.end().status == 7)
        }
    }

    @Test(arguments: [
        (["--listen", "8080"], "--listen 8080: The address must be"),
        (["--listen", "example.com:80"], "--listen example.com:80: The address must be"),
        (["--listen", "0.0.0.0:8080"], "so the page needs a token"),
        (["--listen", "[::]:8080"], "so the page needs a token"),
        (["--base-path", "queue"], "--base-path queue: The path must begin with a slash,"),
        (["--base-path", "/a?b"], "--base-path /a?b: The path must begin with a slash, and consist of"),
        (["--base-path", "/é"], "--base-path /é: The path must begin with a slash, and consist of"),
        (["--token-file", ""], "--token-file: The file has no name."),
    ])
    func `options that aren't valid are refused`(options: [String], message: String) async throws {
        try await QueueScene.run { scene in
            await scene.add(["/song.mp3"])
            let ended = await scene.queue("serve", options)
            #expect(ended.status == .usage)
            #expect(ended.error.contains(message), "\(ended.error)")
        }
    }

    @Test(arguments: [
        "", "short\n", "has spaces in it, and more\n", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
    ])
    func `a token that is easy to guess or can't be sent is refused`(token: String) async throws {
        try await QueueScene.run { scene in
            await scene.add(["/song.mp3"])
            let file = scene.directory.appending(path: "token")
            try Data(token.utf8).write(to: file)
            let ended = await scene.queue("serve", "--token-file", file.path)
            #expect(ended.status == .usage)
            #expect(ended.error.contains("The first line must have at least 16"), "\(ended.error)")
        }
    }

    @Test func `a missing token file is an error that names it`() async throws {
        try await QueueScene.run { scene in
            await scene.add(["/song.mp3"])
            let ended = await scene.queue("serve", "--token-file", "/nowhere/token")
            #expect(ended.status == .localFile)
            #expect(ended.error.contains("--token-file: ") && ended.error.contains("/nowhere/token"), "\(ended.error)")
        }
    }

    @Test func `a missing queue is an error, and isn't created`() async throws {
        try await QueueScene.run { scene in
            let ended = await scene.queue("serve")
            #expect(ended.status == .store)
            #expect(!FileManager.default.fileExists(atPath: scene.database))
        }
    }

    @Test func `a port that is taken is named`() async throws {
        try await QueueScene.run { scene in
            await scene.add(["/song.mp3"])
            let ended = await scene.queue("serve", "--listen", "127.0.0.1:\(scene.origin.port)")
            #expect(ended.status == .other)
            #expect(ended.error.contains("127.0.0.1:\(scene.origin.port)"), "\(ended.error)")
        }
    }
}
