#if PostgreSQL
import Foundation
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `Statements of PostgreSQL` {
    /// Both ways to the server.
    enum Way: CaseIterable, Sendable {
        case direct, pooled
        var url: String { get throws { self == .direct ? try Servers.url : try Servers.pooler } }
    }

    @Test(arguments: Way.allCases) func `values come back as they were sent`(way: Way) async throws {
        try await withDatabase(way.url) { (database) async throws in
            let text = "a'b\"c\\d,{}\u{1F3B5}\n"
            let bytes = (0...255).map { UInt8($0) }
            let result = try await database.run([
                PostgresStatement(
                    """
                    SELECT $1 AS i, $2 AS d, $3 AS b, $4 AS t, $5 AS y, $6::text AS n, $7::text AS "Empty Text"
                    """,
                    [.integer(.min), .double(0.1), true, .text(text), .bytes(bytes), nil, ""])
            ])[0]
            let row = try #require(result.first)
            #expect(result.count == 1)
            #expect(try row.value("i", as: Int64.self) == .min)
            #expect(try row.value("i", as: Int64?.self) == .min)
            #expect(try row.value("d", as: Double.self) == 0.1)
            #expect(try row.value("b", as: Bool.self))
            #expect(try row.value(at: 2, as: Bool?.self) == true)
            #expect(try row.value("t", as: String.self) == text)
            #expect(try row.value("y", as: [UInt8].self) == bytes)
            #expect(try row.value("y", as: Data.self) == Data(bytes))
            #expect(try row.value("n", as: String?.self) == nil)
            #expect(try row.value("Empty Text", as: String?.self) == "")
            let null = await expectPostgresError(.unexpectedValue) { _ = try row.value("n", as: String.self) }
            #expect(null?.message == "The value is NULL.")
            await expectPostgresError(.unexpectedValue) { _ = try row.value("t", as: Int.self) }
            await expectPostgresError(.unexpectedValue) { _ = try row.value("t", as: Bool.self) }
            await expectPostgresError(.unexpectedValue) { _ = try row.value("t", as: Data?.self) }
        }
    }

    @Test func `arrays insert many rows with one statement`() async throws {
        try await withTable { (database, settings) async throws in
            let texts = (0..<10_000).map { $0.isMultiple(of: 7) ? nil : "text \($0) \"',{}\\" }
            let insert = PostgresStatement(
                "INSERT INTO note SELECT * FROM unnest($1, $2)",
                [.integers((0..<10_000).map { Int64($0) }), .texts(texts)])
            let results = try await database.run(
                [insert, PostgresStatement("SELECT text FROM note ORDER BY id")], in: settings)
            #expect(results[0].changedRows == 10_000)
            #expect(try results[1].map { try $0.value(at: 0, as: String?.self) } == texts)
            let others = PostgresStatement(
                "SELECT * FROM unnest($1, $2, $3::int8[])",
                [.bools([true, nil, false]), .byteArrays([[1, 2], [], nil]), .integers([])])
            let rows = try await database.run([others])[0]
            #expect(try rows.map { try $0.value(at: 0, as: Bool?.self) } == [true, nil, false])
            #expect(try rows.map { try $0.value(at: 1, as: [UInt8]?.self) } == [[1, 2], [], nil])
            #expect(try rows.map { try $0.value(at: 2, as: Int64?.self) } == [nil, nil, nil])
        }
    }

    /// The server sends results before it has read all statements, so a client that only writes would wait forever.
    @Test(arguments: Way.allCases) func `large parameters and large results pass each other`(way: Way) async throws {
        try await withDatabase(way.url) { (database) async throws in
            let large = String(repeating: "0123456789abcdef", count: 1 << 18)
            let statements = (0..<8).map { number in
                PostgresStatement("SELECT $1 || $2", [.text(large), .text("\(number)")])
            }
            let results = try await database.run(statements)
            for (number, result) in results.enumerated() {
                #expect(try result.scalar(as: String.self) == large + "\(number)")
            }
        }
    }

    @Test func `an error of the server has its code, and a statement that failed leaves the connection usable`()
        async throws
    {
        try await withTable { (database, settings) async throws in
            let one = PostgresStatement("INSERT INTO note VALUES (1)")
            _ = try await database.run([one], in: settings)
            let twice = await expectPostgresError(.constraintViolated) {
                _ = try await database.run([one], in: settings)
            }
            #expect(twice?.sqlState == "23505" && twice?.isTransient == false)
            for (state, code) in [
                ("40001", PostgresError.Code.serializationFailure), ("40P01", .deadlock), ("55P03", .timedOut),
                ("42501", .notPermitted), ("53100", .full), ("25006", .readOnly), ("22012", .other), ("08P01", .other),
            ] {
                let raise = PostgresStatement("DO $$ BEGIN RAISE 'no' USING ERRCODE = '\(state)'; END $$")
                // On a connection, because a database would try some of them again.
                let connection = try await PostgresConnection.open(database.address)
                let error = await expectPostgresError(code) { _ = try await connection.run([raise]) }
                #expect(error?.sqlState == state)
                #expect(try await connection.run([PostgresStatement("SELECT 1")])[0].scalar(as: Int.self) == 1)
                connection.close()
            }
            let nul = PostgresStatement("SELECT $1", [.text("a\0b")])
            let refused = await expectPostgresError(.other) { _ = try await database.run([nul]) }
            #expect(refused?.sqlState == "22021")
            #expect(try await database.count(settings) == 1)
        }
    }

    @Test func `a statement that takes too long is ended by the server`() async throws {
        try await withDatabase { (database) async throws in
            let settings = PostgresTransaction(statementTimeout: .milliseconds(100))
            let error = await expectPostgresError(.timedOut) {
                _ = try await database.run([PostgresStatement("SELECT pg_sleep(60)")], in: settings)
            }
            #expect(error?.sqlState == "57014")
            #expect(try await database.run([PostgresStatement("SELECT 1")])[0].scalar(as: Int.self) == 1)
        }
    }

    @Test func `a server that does not answer is given up, and the connection is discarded`() async throws {
        let connection = try await PostgresConnection.open(PostgresAddress(Servers.url))
        let error = await expectPostgresError(.timedOut) {
            _ = try await connection.run([PostgresStatement("SELECT pg_sleep(10)")], timeout: .milliseconds(100))
        }
        #expect(error?.sqlState == nil && !connection.isUsable())
        await expectPostgresError(.timedOut) { _ = try await connection.run([PostgresStatement("SELECT 1")]) }
        connection.close()
    }
}
#endif
