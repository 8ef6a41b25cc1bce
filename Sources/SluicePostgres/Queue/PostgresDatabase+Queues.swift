#if PostgreSQL
extension PostgresDatabase {
    /// Whether the schema has tables of queues, and a queue of this name.
    func hasQueue(_ name: String, namespace: String) async throws -> Bool {
        let reading = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        // The server refuses a statement that names a missing table.
        let tables = PostgresStatement("SELECT to_regclass('queue') IS NOT NULL")
        guard try await run([tables], in: reading)[0].scalar() ?? false else { return false }
        let queue = PostgresStatement("SELECT EXISTS (SELECT FROM queue WHERE name = $1)", [.text(name)])
        return try await run([queue], in: reading)[0].scalar() ?? false
    }

    /// The numbers of the server's data directory, the table and the queue, or `nil` if the queue is missing.
    func identity(ofQueue name: String, namespace: String) async throws -> String? {
        guard try await hasQueue(name, namespace: namespace) else { return nil }
        let reading = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        let query = """
            SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                (SELECT oid FROM pg_database WHERE datname = current_database()), 'queue'::regclass::oid, number)
            FROM queue WHERE name = $1
            """
        return try await run([PostgresStatement(query, [.text(name)])], in: reading)[0].scalar()
    }
}
#endif
