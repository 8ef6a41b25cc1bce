#if PostgreSQL
import SluiceDownloads

/// The tables of an application, created and changed by migrations.
///
///     let schema = PostgresSchema(application: "queue", namespace: "sluice", migrations: [
///         ["CREATE TABLE job (id int8 PRIMARY KEY)"],
///         ["ALTER TABLE job ADD COLUMN host text", "CREATE INDEX job_host ON job (host)"],
///     ])
///     try await schema.apply(to: database)
///
/// The number of applied migrations is stored in the table `sluice_schema`, in the same PostgreSQL schema as the tables. Processes that apply
/// migrations concurrently wait for each other.
///
/// **Privileges.** The user must be allowed to create tables in the schema, or to create the schema if it is missing, but needn't be a
/// superuser. If all migrations have already been applied, permission to read `sluice_schema` is enough.
package struct PostgresSchema: Sendable {
    /// The name that the number of migrations is stored under.
    package var application: String
    /// The PostgreSQL schema of the tables; `nil` for the first one in the user's search path, usually `public`.
    package var namespace: String?
    /// The migrations, oldest first, each with its statements. A released migration must not change. Names don't need a schema.
    package var migrations: [[String]]

    package init(application: String, namespace: String? = nil, migrations: [[String]]) {
        self.application = application
        self.namespace = namespace
        self.migrations = migrations
    }

    /// Applies all missing migrations or none.
    ///
    /// - Throws: ``PostgresError``: ``PostgresError/Code/newerVersion`` if the tables have more migrations than this program knows.
    package func apply(to database: PostgresDatabase) async throws {
        // Usually nothing is missing. Then we don't need the lock, which a migrating program may hold for minutes.
        if try await isApplied(to: database) { return }
        let settings = PostgresTransaction(
            lock: lock, namespace: namespace, statementTimeout: .seconds(600), lockTimeout: .seconds(600),
            isIdempotent: true)
        try await database.transaction(settings) { connection in
            if try await isWithoutNamespace(connection) {
                guard let namespace else { throw missingNamespace(connection.subject) }
                try await connection.execute("CREATE SCHEMA \(PostgresStatement.quoted(namespace))")
            } else if let namespace {
                // Without this privilege, the tables would appear to be missing.
                let isUsable = "SELECT has_schema_privilege($1, 'USAGE')"
                guard try await connection.holds(isUsable, [.text(namespace)]) else {
                    throw unusableNamespace(namespace, connection.subject)
                }
            }
            if try await connection.holds("SELECT to_regclass('sluice_schema') IS NULL") {
                try await connection.execute(
                    "CREATE TABLE sluice_schema (application text PRIMARY KEY, version int8 NOT NULL)")
            }
            let found = try await version(connection)
            guard (0...migrations.count).contains(found) else { throw newerVersion(found, connection.subject) }
            guard found < migrations.count else { return }
            // One round trip for each statement, because each may need up to the time limit.
            for statement in migrations[found...].joined() { try await connection.execute(statement) }
            _ = try await connection.run([
                PostgresStatement(
                    """
                    INSERT INTO sluice_schema (application, version) VALUES ($1, $2)
                    ON CONFLICT (application) DO UPDATE SET version = excluded.version
                    """, [.text(application), .integer(Int64(migrations.count))])
            ])
        }
    }

    private func isApplied(to database: PostgresDatabase) async throws -> Bool {
        let settings = PostgresTransaction(namespace: namespace, isIdempotent: true, isReadOnly: true)
        return try await database.transaction(settings) { connection in
            // Without the privilege, the tables appear to be missing.
            guard try await !connection.holds("SELECT to_regclass('sluice_schema') IS NULL") else { return false }
            return try await version(connection) == migrations.count
        }
    }

    private func version(_ connection: PostgresConnection) async throws -> Int {
        let known = PostgresStatement("SELECT version FROM sluice_schema WHERE application = $1", [.text(application)])
        return try await connection.run([known])[0].scalar(as: Int.self) ?? 0
    }

    private func isWithoutNamespace(_ connection: PostgresConnection) async throws -> Bool {
        guard let namespace else { return try await connection.holds("SELECT current_schema() IS NULL") }
        return try await connection.holds(
            "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)", [.text(namespace)])
    }

    /// The lock that keeps other processes from applying the same migrations.
    var lock: Int64 { Int64(bitPattern: "sluice_schema/\(namespace ?? "")/\(application)".stableHash) }

    private func newerVersion(_ found: Int, _ subject: String) -> PostgresError {
        PostgresError(
            .newerVersion, subject: subject,
            message:
                "The tables have version \(found) and this program knows version \(migrations.count), so they weren't changed.",
            remedy: "Use the newer program that changed them, or choose another database.")
    }

    private func unusableNamespace(_ name: String, _ subject: String) -> PostgresError {
        PostgresError(
            .notPermitted, subject: subject, message: "The user isn't allowed to use the schema '\(name)'.",
            remedy: "Grant USAGE on the schema and the privileges on its tables, or connect as its owner.")
    }

    private func missingNamespace(_ subject: String) -> PostgresError {
        PostgresError(
            .notPermitted, subject: subject, message: "The user has no schema in which tables can be created.",
            remedy: "Create a schema with the user's name, or set search_path for the user.")
    }
}

extension PostgresConnection {
    /// Runs one statement of a migration, which may take minutes.
    fileprivate func execute(_ sql: String) async throws {
        _ = try await run([PostgresStatement(sql)], timeout: .seconds(605))
    }

    fileprivate func holds(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> Bool {
        try await run([PostgresStatement(sql, parameters)])[0].scalar(as: Bool.self) ?? false
    }
}
#endif
