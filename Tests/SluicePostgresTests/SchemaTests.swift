#if PostgreSQL
import Foundation
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `PostgreSQL schemas` {
    private func schema(_ name: String?, versions: Int) -> PostgresSchema {
        PostgresSchema(
            application: "test", namespace: name,
            migrations: Array(
                [
                    ["CREATE TABLE song (id int8 PRIMARY KEY)", "INSERT INTO song VALUES (1)"],
                    ["ALTER TABLE song ADD COLUMN name text"],
                    ["INSERT INTO song VALUES (2, 'two')"],
                ].prefix(versions)))
    }

    /// Runs `body` with the name of a schema that doesn't exist yet, and removes it afterwards.
    private func withName(_ body: (PostgresDatabase, String) async throws -> Void) async throws {
        let name = "Test \(UInt64.random(in: 0 ... .max))"
        try await withDatabase(configuration: .init(concurrency: 8)) { (database) async throws in
            let drop = PostgresStatement("DROP SCHEMA IF EXISTS \(PostgresStatement.quoted(name)) CASCADE")
            do {
                try await body(database, name)
                _ = try await database.run([drop])
            } catch {
                _ = try? await database.run([drop])
                throw error
            }
        }
    }

    private func songs(_ database: PostgresDatabase, _ name: String) async throws -> Int? {
        try await database.run([PostgresStatement("SELECT count(*) FROM song")], in: .init(namespace: name))[0].scalar()
    }

    @Test func `a user who isn't a superuser applies each missing migration once`() async throws {
        try await withName { (database, name) async throws in
            let superuser = PostgresStatement("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
            #expect(try await database.run([superuser])[0].scalar() == false)
            for versions in [1, 1, 3, 3] { try await schema(name, versions: versions).apply(to: database) }
            #expect(try await songs(database, name) == 2)
        }
    }

    @Test func `eight processes apply the migrations once between them`() async throws {
        try await withName { (database, name) async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await schema(name, versions: 3).apply(to: database) } }
                try await group.waitForAll()
            }
            #expect(try await songs(database, name) == 2)
        }
    }

    @Test func `applying to a newer schema throws and changes nothing`() async throws {
        try await withName { (database, name) async throws in
            try await schema(name, versions: 3).apply(to: database)
            let error = await expectPostgresError(.newerVersion) {
                try await schema(name, versions: 2).apply(to: database)
            }
            #expect(error?.message.contains("version 3") == true && error?.remedy?.contains("newer program") == true)
            let damage = PostgresStatement("UPDATE sluice_schema SET version = -1")
            _ = try await database.run([damage], in: .init(namespace: name))
            _ = await expectPostgresError(.newerVersion) { try await schema(name, versions: 2).apply(to: database) }
        }
    }

    @Test func `a failed migration leaves the schema unchanged`() async throws {
        try await withName { (database, name) async throws in
            try await schema(name, versions: 1).apply(to: database)
            var broken = schema(name, versions: 3)
            broken.migrations[2].append("SELECT 1 / 0")
            let unfinished = broken
            await expectPostgresError(.other) { try await unfinished.apply(to: database) }
            #expect(try await songs(database, name) == 1)
            try await schema(name, versions: 3).apply(to: database)
            #expect(try await songs(database, name) == 2)
        }
    }

    @Test func `without a namespace, tables go into the first schema of the search path`() async throws {
        // Other tests may create a schema with the user's name, but not in this database.
        try await withDatabase(PostgresServers.url { $0.path = "/empty" }) { (database) async throws in
            let application = "test \(UInt64.random(in: 0 ... .max))"
            try await PostgresSchema(application: application, migrations: [["SELECT 1"]]).apply(to: database)
            let version = PostgresStatement(
                "DELETE FROM public.sluice_schema WHERE application = $1 RETURNING version", [.text(application)])
            #expect(try await database.run([version])[0].scalar(as: Int.self) == 1)
        }
    }

    @Test func `a user without privileges gets an error that says so`() async throws {
        try await withDatabase { (database) async throws in
            let schema = PostgresSchema(
                application: "test", namespace: "pg_catalog", migrations: [["CREATE TABLE a ()"]])
            let error = await expectPostgresError(.notPermitted) { try await schema.apply(to: database) }
            #expect(error?.sqlState == "42501" && error?.remedy?.contains("Grant") == true)
        }
    }

    @Test func `a user who isn't allowed to use the schema gets an error that says so`() async throws {
        try await withName { (database, name) async throws in
            try await schema(name, versions: 3).apply(to: database)
            // An owner can take its own privilege away, and give it back.
            _ = try await database.run([
                PostgresStatement("REVOKE USAGE ON SCHEMA \(PostgresStatement.quoted(name)) FROM CURRENT_USER")
            ])
            let error = await expectPostgresError(.notPermitted) {
                try await schema(name, versions: 3).apply(to: database)
            }
            #expect(error?.message.contains(name) == true && error?.remedy?.contains("Grant USAGE") == true)
        }
    }
}
#endif
