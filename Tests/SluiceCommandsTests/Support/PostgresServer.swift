#if PostgreSQL
import Foundation
import Testing

/// The server that Scripts/checks/postgres.sh starts.
enum PostgresServer {
    private static let environment = ProcessInfo.processInfo.environment

    /// Whether tests use it. In CI they do in any case, and fail without a server.
    static let isThere =
        environment["SLUICE_POSTGRES"] != nil || environment["CI"] != nil
        || environment["SLUICE_REQUIRE_SERVERS"] != nil

    struct Missing: Error, CustomStringConvertible {
        var description: String {
            "SLUICE_POSTGRES or SLUICE_PGBOUNCER isn't set. Run the tests with Scripts/checks/postgres.sh."
        }
    }

    static var url: String {
        get throws {
            guard let url = environment["SLUICE_POSTGRES"] else { throw Missing() }
            return url
        }
    }

    /// A pooler in transaction mode in front of the server.
    static var pooler: String {
        get throws {
            guard let url = environment["SLUICE_PGBOUNCER"] else { throw Missing() }
            return url
        }
    }

    /// The URL with another part.
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
