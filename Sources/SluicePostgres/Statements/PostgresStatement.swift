#if PostgreSQL
internal import CSluicePostgres

/// A statement with its parameters, which the SQL names `$1`, `$2` and so on.
///
///     let waiting = PostgresStatement("SELECT count(*) FROM job WHERE state = $1 AND host = $2", [0, .text(host)])
///
/// It is sent unnamed with its parameters, so that it leaves no state in the session: a pooler such as pgbouncer may run the next
/// transaction in another session.
package struct PostgresStatement: Sendable, Hashable {
    package var sql: String
    package var parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        precondition(
            !sql.utf8.contains(0), "A statement must not contain a NUL character. Pass the text as a parameter.")
        precondition(
            parameters.count <= 65535,
            "A statement can have up to 65535 parameters; this one has \(parameters.count). Pass arrays instead.")
        self.sql = sql
        self.parameters = parameters
    }

    /// Waits for a lock that ends with the transaction. It must be a statement of its own, before those that rely on it: a statement that
    /// takes a lock and reads tables uses the state of the tables from before it waited.
    package static func lock(_ key: Int64) -> PostgresStatement {
        PostgresStatement("SELECT pg_advisory_xact_lock($1)", [.integer(key)])
    }

    /// Adds the statement to a connection's pipeline. Returns whether libpq accepted it.
    func send(on handle: OpaquePointer) -> Bool {
        var bytes: [UInt8] = []
        var types: [Oid] = []
        // Where each parameter is in `bytes`, or `nil` for NULL.
        var places: [Range<Int>?] = []
        for parameter in parameters {
            let start = bytes.count
            let isPresent = parameter.append(to: &bytes)
            types.append(parameter.type)
            places.append(isPresent ? start..<bytes.count : nil)
        }
        guard bytes.count <= Int(CInt.max) else { return false }
        let lengths = places.map { CInt($0?.count ?? 0) }
        let binary = [CInt](repeating: 1, count: parameters.count)
        // An empty array may have no address, and a parameter without one is NULL.
        bytes.append(0)
        return bytes.withUnsafeBytes { memory in
            let start = memory.baseAddress!.assumingMemoryBound(to: CChar.self)
            let values = places.map { place in place.map { start + $0.lowerBound } }
            return PQsendQueryParams(handle, sql, CInt(parameters.count), types, values, lengths, binary, 0) == 1
        }
    }
}
#endif
