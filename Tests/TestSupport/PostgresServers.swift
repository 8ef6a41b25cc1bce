public import Foundation

/// The servers that `Scripts/checks/postgres.sh` starts.
///
///     @Test(.enabled(if: PostgresServers.areThere, "\(PostgresServers.skipped)"))
///     func `a queue is created`() async throws {
///         let store = PostgresQueueStore(try PostgresServers.url, queue: PostgresServers.newName())
///         …
///     }
public enum PostgresServers {
    /// A server that a test needs isn't there.
    public struct Missing: Error, CustomStringConvertible {
        var variable: String
        /// The message of the failed test.
        public var description: String { "\(variable) isn't set. Run the tests with Scripts/checks/postgres.sh." }
    }

    private static let environment = ProcessInfo.processInfo.environment

    /// Whether the tests use the servers. In CI they always do, and fail without them.
    public static let areThere =
        ["SLUICE_POSTGRES", "CI", "SLUICE_REQUIRE_SERVERS"].contains { environment[$0] != nil }

    /// Why tests are skipped without the servers.
    public static let skipped = "skipped: there is no server; run the tests with Scripts/checks/postgres.sh"

    private static func variable(_ name: String) throws -> String {
        guard let value = environment[name] else { throw Missing(variable: name) }
        return value
    }

    /// The variable's URL, with a connection timeout of a minute, because ten seconds aren't enough on a machine with many processes.
    private static func server(_ name: String) throws -> String { try variable(name) + "?connect_timeout=60" }

    /// The URL of the server that the tests share.
    public static var url: String { get throws { try server("SLUICE_POSTGRES") } }

    /// The URL of a pooler in transaction mode.
    public static var pooler: String { get throws { try server("SLUICE_PGBOUNCER") } }

    /// The URL of a server that tests may kill.
    public static var mortal: String { get throws { try server("SLUICE_POSTGRES_MORTAL") } }

    /// The password in ``url``.
    public static var password: String { get throws { URLComponents(string: try url)?.password ?? "" } }

    /// Returns ``url`` with some parts changed, such as the password, the port or the database.
    public static func url(_ change: (inout URLComponents) -> Void) throws -> String {
        guard var parts = URLComponents(string: try url) else { throw Missing(variable: "SLUICE_POSTGRES") }
        change(&parts)
        return parts.string ?? ""
    }

    /// Returns the name of a queue that doesn't exist yet.
    public static func newName() -> String { "test \(UInt64.random(in: 0 ... .max))" }

    /// Returns the address of a queue that doesn't exist yet.
    public static func newQueue() throws -> String { try variable("SLUICE_POSTGRES") + "#" + newName() }

    /// Kills ``mortal``, as in a crash, or starts it again: `kill` or `start`.
    public static func control(_ verb: String) async throws -> ChildProcess.End {
        try await ChildProcess.shell("\(variable("SLUICE_POSTGRES_CONTROL")) \(verb)")
    }
}
