package import GRDB

/// The tables of a database, and how each version of them came from the one before.
///
///     let schema = DatabaseSchema(application: 0x534C_5551, migrations: [
///         { try $0.execute(sql: "CREATE TABLE job (…)") },
///         { try $0.execute(sql: "ALTER TABLE job ADD COLUMN priority …") },
///     ])
///
/// The version, the number of migrations, is kept in SQLite's `user_version`, and the kind of database in its
/// `application_id`.
package struct DatabaseSchema: Sendable {
    /// Says whose database it is; any number of the application's own.
    package var application: Int32
    /// The steps, oldest first. Those that were ever released stay as they are.
    package var migrations: [@Sendable (Database) throws -> Void]

    /// A schema.
    package init(application: Int32, migrations: [@Sendable (Database) throws -> Void]) {
        self.application = application
        self.migrations = migrations
    }

    /// Brings the database to the newest version. Within a transaction: all of it, or nothing.
    func apply(to database: Database, path: String) throws {
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let owner = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        guard owner == application || (owner == 0 && tables == 0) else {
            throw DatabaseFailure(
                .foreign, path: path, cause: "it is a database of another kind",
                remedy: "Choose another file; this one is left as it is.")
        }
        guard found <= migrations.count else {
            throw DatabaseFailure(
                .newerVersion, path: path,
                cause: "it has version \(found) of its tables, and this program knows \(migrations.count)",
                remedy: "Use the newer program that wrote it, or another file; this one is left as it is.")
        }
        guard found < migrations.count else { return }
        for migration in migrations[found...] { try migration(database) }
        try database.execute(sql: "PRAGMA application_id = \(application)")
        try database.execute(sql: "PRAGMA user_version = \(migrations.count)")
    }
}
