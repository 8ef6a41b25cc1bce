#if PostgreSQL
import Foundation
import LoopbackOrigin
import SluiceCommands
import TestSupport
import Testing

@Suite(.enabled(if: PostgresServers.areThere, "\(PostgresServers.skipped)")) struct `A queue on PostgreSQL` {
    @Test(arguments: [
        ["list"], ["watch"], ["work", "--until-empty"], ["cancel", "--all"], ["retry", "1"],
    ])
    func `a missing queue is an error and isn't created`(command: [String]) async throws {
        try await QueueScene.run(on: .postgres) { scene in
            for _ in 0..<2 {
                let ended = await scene.queue(command[0], Array(command.dropFirst()))
                #expect(ended.status == .store && ended.output.isEmpty)
                #expect(ended.error.hasPrefix("sluice: --db postgres://sluice@127.0.0.1:"), "\(ended.error)")
                #expect(ended.error.contains("/sluice#test "), "\(ended.error)")
                #expect(
                    ended.error.hasSuffix(
                        "No such queue in this database. Check the name, or create it with 'sluice queue add'.\n"))
            }
        }
    }

    @Test func `a worker that starts first creates the queue`() async throws {
        try await QueueScene.run(on: .postgres) { scene in
            let console = RecordedConsole().console
            let arguments = ["queue", "work", "--db", scene.database, "-q"]
            async let worked = SluiceProgram.run(arguments, console: console)
            while await scene.queue("list").status != .success {}
            console.interruption.request()
            #expect(await worked == .interrupted)
        }
    }

    @Test func `a database can contain several queues`() async throws {
        try await QueueScene.run(on: .postgres) { scene in
            await scene.add(["/a"])
            let other = try PostgresServers.newQueue()
            let added = await scene.sluice(
                ["queue", "add", "--db", other, "-d", scene.files.path, scene.origin.url("/b"), scene.origin.url("/c")])
            #expect(added.output == "Added 2 downloads.\n", "\(added.error)")
            let (mine, others) = (try await scene.listing(), try await scene.listing(of: other))
            #expect(mine.waiting.map(\.name) == ["a"] && others.waiting.map(\.name) == ["b", "c"])
        }
    }

    @Test func `relative directories are below the worker's directory`() async throws {
        try await QueueScene.run(on: .postgres) { scene in
            // Given
            let list = scene.directory.appending(path: "list")
            try Data("\(scene.origin.url("/b"))\n  dir=other/./dir/\n\(scene.origin.url("/c"))\n  dir=\n".utf8).write(
                to: list)
            let added = await scene.queue("add", "-d", "./music//7", scene.origin.url("/a"), "-i", list.path)
            #expect(added.output == "Added 3 downloads.\n", "\(added.error)")
            let listing = try await scene.listing()
            #expect(listing.waiting.map(\.file) == ["music/7/a", "other/dir/b", "c"])
            // When
            let worked = await scene.queue("work", "--until-empty", "-q", "-d", scene.files.path)
            // Then
            #expect(worked.status == .success, "\(worked.error)")
            for name in ["music/7/a", "other/dir/b", "c"] {
                #expect(FileManager.default.fileExists(atPath: scene.files.appending(path: name).path), "\(name)")
            }
            // The command can't see whether another machine still has the file.
            let again = await scene.queue("add", "-d", "music/7", scene.origin.url("/a"))
            #expect(again.output == "Added 0 downloads. 1 is done already.\n", "\(again)")
        }
    }

    @Test(arguments: ["..", "music/../..", ".hidden", "a\u{7}"])
    func `relative directories that would leave the worker's directory are refused`(directory: String) async throws {
        try await QueueScene.run(on: .postgres) { scene in
            let urls = [scene.origin.url("/a"), scene.origin.url("/b")]
            let added = await scene.queue("add", ["-d", directory] + urls)
            #expect(added.status == .usage && added.error.hasPrefix("sluice: -d "), "\(added)")
            let end = "control characters, or use an absolute directory. See 'sluice queue add --help'.\n"
            #expect(added.error.hasSuffix(end), "\(added)")
            let list = scene.directory.appending(path: "list")
            try Data("\(urls[0])\n  dir=\(directory)\n".utf8).write(to: list)
            let listed = await scene.queue("add", "-d", "music", "-i", list.path)
            #expect(listed.status == .usage && listed.error.contains(":1: dir="), "\(listed)")
            // Nothing was created.
            #expect(await scene.queue("list").status == .store)
        }
    }

    @Test func `variables can replace the URL, and messages show their values`() async throws {
        try await QueueScene.run(on: .postgres) { scene in
            await scene.add(["/a"])
            let parts = try #require(
                URLComponents(string: scene.database.split(separator: "#").first.map(String.init) ?? ""))
            let variables =
                "PGHOST='\(parts.host ?? "")' PGPORT=\(parts.port ?? 0) PGUSER='\(parts.user ?? "")' PGDATABASE=sluice "
            let password = "PGPASSWORD='\(try PostgresServers.password)' "
            let name = scene.database.split(separator: "#").last.map(String.init) ?? ""
            let list = ["queue", "list", "--db", "postgres:///#\(name)"]
            let found = try await ChildProcess.sluice("\(variables) \(password) exec \"$@\"", list)
            #expect(found.status == 0 && found.output.hasPrefix("0 running, 1 waiting\n"), "\(found)")
            let refused = try await ChildProcess.sluice("\(variables) PGPASSWORD=wrong-secret exec \"$@\"", list)
            #expect(refused.status == ExitStatus.store.rawValue)
            #expect(refused.error.hasPrefix("sluice: --db postgres://sluice@127.0.0.1:"), "\(refused.error)")
            #expect(!refused.error.contains("secret"))
        }
    }

    @Test func `without announcements through a pooler, the worker says so and continues`() async throws {
        try await QueueScene.run(on: .postgres) { scene in
            await scene.add(["/a"])
            let name = scene.database.split(separator: "#").last ?? ""
            let messages = RecordedConsole()
            let console = messages.console
            let arguments = ["queue", "work", "--db", "\(try PostgresServers.pooler)#\(name)", "--progress", "lines"]
            async let worked = SluiceProgram.run(arguments, console: console)
            try await messages.output(.error) { $0.contains("The worker continues.") }
            #expect(messages.error.contains("so the queue is polled every second. "), "\(messages.error)")
            await scene.add(["/b"])
            while try await scene.listing().counts["done"] != 2 {}
            console.interruption.request()
            #expect(await worked == .interrupted)
        }
    }

    @Test func `a queue isn't copied to itself`() async throws {
        try await QueueScene.run(on: .postgres) { scene in
            await scene.add(["/a"])
            // The same queue under another name.
            let alias = scene.database.replacing("postgres://", with: "postgresql://")
            let ended = await scene.sluice(["queue", "copy", "--from", scene.database, "--to", alias])
            #expect(ended.status == .usage && ended.error.contains("This is the same queue as --from."), "\(ended)")
            let password = try PostgresServers.password
            #expect(!ended.error.contains(password))
        }
    }

    enum Mistake: CaseIterable {
        case password, user, database, port

        func database() throws -> String {
            try PostgresServers.url { parts in
                switch self {
                case .password: parts.password = "wrong-secret"
                case .user: parts.user = "stranger"
                case .database: parts.path = "/missing"
                case .port: parts.port = 1
                }
            }
        }

        var remedy: String {
            switch self {
            case .password, .user: "Check the user and the password in the URL"
            case .database: "Check the name of the database in the URL, or create it"
            case .port: "Check that the server runs, and that the host and the port in the URL are right."
            }
        }
    }

    @Test(arguments: Mistake.allCases, [["list"], ["work"], ["watch"], ["add", "-d", "x", "http://a.example/x"]])
    func `a mistake in the URL gets one clear line without the password`(
        mistake: Mistake, command: [String]
    ) async throws {
        try await QueueScene.run { scene in
            let arguments = ["queue", command[0], "--db", try mistake.database()] + command.dropFirst()
            let ended = await scene.sluice(arguments)
            #expect(ended.status == .store && ended.output.isEmpty)
            #expect(ended.error.hasPrefix("sluice: --db postgres://"), "\(ended.error)")
            #expect(ended.error.contains(mistake.remedy), "\(ended.error)")
            #expect(ended.error.filter { $0 == "\n" }.count == 1, "\(ended.error)")
            let password = try PostgresServers.password
            #expect(!ended.error.contains("secret") && !ended.error.contains(password))
        }
    }

    @Test func `sluice get continues a list`() async throws {
        try await QueueScene.run(on: .postgres) { request in
            request.target == "/b" && request.attempt == 1 ? OriginResponse(status: 404) : OriginResponse(body: [1])
        } during: { scene in
            let get =
                ["get", "-q", "--db", scene.database, "-d", scene.files.path] + ["/a", "/b"].map(scene.origin.url)
            #expect(await scene.sluice(get).status == .http)
            let listing = try await scene.listing()
            #expect(listing.counts["done"] == 1 && listing.counts["failed"] == 1)
            #expect(await scene.sluice(get).status == .success)
            #expect(scene.names == ["a", "b"])
            let after = try await scene.listing()
            #expect(after.counts.values.allSatisfy { $0 == 0 })
        }
    }
}
#endif
