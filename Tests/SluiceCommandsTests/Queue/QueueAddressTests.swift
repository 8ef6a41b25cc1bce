import Foundation
import Testing

@testable import SluiceCommands

@Suite struct `The argument of --db` {
    @Test(arguments: ["queue.db", "./postgres:x", "/tmp/a#b.db", "postgres:/x", "mysql://a"])
    func `names a file unless it has the scheme of PostgreSQL`(argument: String) throws {
        guard case .file(let url) = try QueueAddress(argument) else {
            Issue.record("not a file")
            return
        }
        #expect(url.path.hasSuffix(argument.hasPrefix("./") ? "/postgres:x" : argument))
    }

    @Test(arguments: [
        ("postgres://db.example/sluice", "postgres://db.example/sluice", "default"),
        ("POSTGRESQL://db.example/Sluice", "postgresql://db.example/Sluice", "default"),
        (
            "postgres://ann:pass@[::1]:5433/sluice?sslmode=require#songs",
            "postgres://ann:pass@[::1]:5433/sluice?sslmode=require", "songs"
        ),
        ("postgres:///sluice#top%20500/%23", "postgres:///sluice", "top 500/#"),
        ("postgres://h/d#Lieder äöü", "postgres://h/d", "Lieder äöü"),
        // libpq accepts it in a password.
        ("postgres://ann:pa#ss@h/d", "postgres://ann:pa#ss@h/d", "default"),
        ("postgres://ann:pa#ss@h/d#songs", "postgres://ann:pa#ss@h/d", "songs"),
        ("postgres://", "postgres://", "default"),
    ])
    func `names a database and a queue in it`(argument: String, url: String, queue: String) throws {
        #expect(try QueueAddress(argument) == .postgres(url: url, queue: queue))
    }

    @Test(arguments: ["#", "#%zz", "#a%00b", "#a\u{1B}[2J", "#" + String(repeating: "x", count: 256)])
    func `is refused without a valid name of a queue, and isn't repeated`(end: String) {
        let problem = #expect(throws: QueueAddress.Problem.self) {
            _ = try QueueAddress("postgres://ann:secret@db.example/sluice" + end)
        }
        #expect(problem?.subject == "postgres://…")
        #expect(problem?.message.contains("255 bytes") == true && problem?.message.contains("secret") == false)
    }
}
