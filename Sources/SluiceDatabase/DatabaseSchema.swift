package import GRDB

/// The migrations that create and change the tables of a database. The number of applied migrations is stored in SQLite's `user_version`,
/// and ``application`` in `application_id`.
package struct DatabaseSchema: Sendable {
    package var application: Int32
    /// The migrations, oldest first. A released migration must not change.
    package var migrations: [@Sendable (Database) throws -> Void]

    package init(application: Int32, migrations: [@Sendable (Database) throws -> Void]) {
        self.application = application
        self.migrations = migrations
    }

    /// Applies the missing migrations, all or none: the caller must be in a transaction.
    func apply(to database: Database, path: String) throws {
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let owner = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        guard owner == application || (owner == 0 && tables == 0) else {
            throw DatabaseFailure(
                .foreign, path: path, cause: "it belongs to another application, so it wasn't changed",
                remedy: "Choose another file.")
        }
        guard found <= migrations.count else {
            throw DatabaseFailure(
                .newerVersion, path: path,
                cause:
                    "its tables have version \(found) and this program knows version \(migrations.count), so it wasn't changed",
                remedy: "Use the newer program that wrote it, or choose another file.")
        }
        guard found < migrations.count else { return }
        for migration in migrations[found...] { try migration(database) }
        try database.execute(sql: "PRAGMA application_id = \(application)")
        try database.execute(sql: "PRAGMA user_version = \(migrations.count)")
    }
}
