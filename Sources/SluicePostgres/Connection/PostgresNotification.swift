#if PostgreSQL
/// A message of NOTIFY.
package struct PostgresNotification: Sendable, Hashable {
    package var channel: String
    package var payload: String
}

extension PostgresStatement {
    /// Receives the notifications of a channel on this connection, from the end of the transaction. A pooler in transaction mode accepts the
    /// statement, but the notifications don't arrive.
    package static func listen(to channel: String) -> PostgresStatement {
        PostgresStatement("LISTEN \(quoted(channel))")
    }

    /// Sends a notification when the transaction is committed. Equal ones of one transaction are sent once.
    package static func notify(_ channel: String, _ payload: String = "") -> PostgresStatement {
        PostgresStatement("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
    }

    /// Returns a name as an identifier that may contain any characters. PostgreSQL cuts identifiers off after 63 bytes.
    package static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
#endif
