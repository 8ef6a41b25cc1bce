#if PostgreSQL
import Foundation
import Testing

/// The server that Scripts/checks/postgres.sh starts.
enum PostgresServer {
    private static let environment = ProcessInfo.processInfo.environment

    /// Whether tests use the server. In CI, they always do, and fail without it.
    static let isThere =
        environment["SLUICE_POSTGRES"] != nil || environment["CI"] != nil
        || environment["SLUICE_REQUIRE_SERVERS"] != nil

    struct Missing: Error, CustomStringConvertible {
        var name: String
        var description: String { "\(name) isn't set. Run the tests with Scripts/checks/postgres.sh." }
    }

    static var url: String { get throws { try variable("SLUICE_POSTGRES") } }
    /// The address of a pooler in transaction mode.
    static var pooler: String { get throws { try variable("SLUICE_PGBOUNCER") } }

    private static func variable(_ name: String) throws -> String {
        guard let value = environment[name] else { throw Missing(name: name) }
        return value
    }

    /// The URL with some parts changed.
    static func url(_ change: (inout URLComponents) -> Void) throws -> String {
        var parts = try #require(URLComponents(string: try url))
        change(&parts)
        return try #require(parts.string)
    }

    /// The address of a queue that doesn't exist yet.
    static func newQueue() throws -> String { try url + "#test \(UInt64.random(in: 0 ... .max))" }

    static var password: String { get throws { try #require(URLComponents(string: try url)?.password) } }
}

extension Trait where Self == ConditionTrait {
    static var needsPostgres: ConditionTrait {
        .enabled(
            if: PostgresServer.isThere, "skipped: there is no server; run the tests with Scripts/checks/postgres.sh")
    }
}
#endif
