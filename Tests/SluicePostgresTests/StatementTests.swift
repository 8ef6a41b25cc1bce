#if PostgreSQL
import Foundation
import SluiceFiles
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `PostgreSQL statements` {
    /// Both ways to reach the server.
    enum Way: CaseIterable, Sendable {
        case direct, pooled
        var url: String { get throws { self == .direct ? try PostgresServers.url : try PostgresServers.pooler } }
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
    @Test(arguments: Way.allCases) func `large parameters and large results don't deadlock`(way: Way) async throws {
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

    @Test func `a failed statement throws the server's code and leaves the connection usable`()
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
                // On a connection, because a database would retry some of them.
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

    @Test func `the server ends a statement that takes too long`() async throws {
        try await withDatabase { (database) async throws in
            let settings = PostgresTransaction(statementTimeout: .milliseconds(100))
            let error = await expectPostgresError(.timedOut) {
                _ = try await database.run([PostgresStatement("SELECT pg_sleep(60)")], in: settings)
            }
            #expect(error?.sqlState == "57014")
            #expect(try await database.run([PostgresStatement("SELECT 1")])[0].scalar(as: Int.self) == 1)
        }
    }

    @Test func `a server that doesn't respond times out, and its connection is discarded`() async throws {
        let connection = try await PostgresConnection.open(PostgresAddress(PostgresServers.url))
        let error = await expectPostgresError(.timedOut) {
            _ = try await connection.run([PostgresStatement("SELECT pg_sleep(10)")], timeout: .milliseconds(100))
        }
        #expect(error?.sqlState == nil && !connection.isUsable())
        await expectPostgresError(.timedOut) { _ = try await connection.run([PostgresStatement("SELECT 1")]) }
        connection.close()
    }
}

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `PostgreSQL transactions` {
    private struct Refused: Error {}

    private static let insert = "INSERT INTO note SELECT coalesce(max(id), 0) + 1 FROM note"

    @Test func `a body that throws rolls everything back`() async throws {
        try await withTable { (database, settings) async throws in
            await #expect(throws: Refused.self) {
                try await database.transaction(settings) { connection in
                    _ = try await connection.run([PostgresStatement("INSERT INTO note VALUES (1)")])
                    throw Refused()
                }
            }
            #expect(try await database.count(settings) == 0)
        }
    }

    @Test func `a failed statement undoes the statements before it`() async throws {
        try await withTable { (database, settings) async throws in
            let one = PostgresStatement("INSERT INTO note VALUES (1)")
            for statements in [[one, one], [one, PostgresStatement("SELECT 1 / 0"), one]] {
                await #expect(throws: PostgresError.self) { try await database.run(statements, in: settings) }
                #expect(try await database.count(settings) == 0)
            }
            // A body that ignores the error is rolled back, too, and the transaction throws.
            let error = await expectPostgresError(.other) {
                try await database.transaction(settings) { connection in
                    _ = try await connection.run([one])
                    _ = try? await connection.run([PostgresStatement("SELECT 1 / 0")])
                }
            }
            #expect(error?.message.contains("rolled back") == true)
            #expect(try await database.count(settings) == 0)
        }
    }

    @Test func `settings end with the transaction`() async throws {
        try await withDatabase(configuration: .init(concurrency: 1)) { (database) async throws in
            let settings = PostgresTransaction(
                waitsForDisk: false, namespace: "a \"name\"", statementTimeout: .milliseconds(1234))
            let show = PostgresStatement(
                """
                SELECT current_setting('synchronous_commit') AS commit, current_setting('search_path') AS path,
                    current_setting('statement_timeout') AS timeout, current_setting('transaction_isolation') AS isolation
                """)
            let inside = try #require(try await database.run([show], in: settings)[0].first)
            #expect(try inside.value("commit", as: String.self) == "off")
            #expect(try inside.value("path", as: String.self) == "\"a \"\"name\"\"\"")
            #expect(try inside.value("timeout", as: String.self) == "1234ms")
            #expect(try inside.value("isolation", as: String.self) == "read committed")
            let outside = try #require(try await database.run([show])[0].first)
            #expect(try outside.value("commit", as: String.self) == "on")
            #expect(try outside.value("path", as: String.self) == "\"$user\", public")
        }
    }

    /// Each transaction counts the rows and inserts one with that number. Without the lock, or with a snapshot from before it, two would
    /// insert the same number.
    @Test(arguments: `PostgreSQL statements`.Way.allCases)
    func `each of 64 concurrent transactions with a lock sees the ones before it`(
        way: `PostgreSQL statements`.Way
    ) async throws {
        try await withTable(way.url, configuration: .init(concurrency: 16)) { (database, settings) async throws in
            var locked = settings
            locked.lock = .random(in: 0 ... .max)
            let transaction = locked
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<64 {
                    group.addTask {
                        if number.isMultiple(of: 2) {
                            _ = try await database.run([PostgresStatement(Self.insert)], in: transaction)
                        } else {
                            try await database.transaction(transaction) { connection in
                                _ = try await connection.run([PostgresStatement(Self.insert)])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.count(settings) == 64)
        }
    }

    @Test func `while 32 transactions wait for a lock, timers fire and files are read`() async throws {
        let lock = Int64.random(in: 0 ... .max)
        try await withTable(configuration: .init(concurrency: 33)) { (database, settings) async throws in
            let holder = try await PostgresConnection.open(database.address)
            let gate = Gate()
            let holding = Task {
                try await holder.transaction(PostgresTransaction(lock: lock)) { _ in await gate.pass() }
            }
            await gate.arrivals(1)
            var locked = settings
            locked.lock = lock
            let transaction = locked
            let waiting = (0..<32).map { _ in
                Task { try await database.run([PostgresStatement(Self.insert)], in: transaction) }
            }
            try await database.waitForWaiters(32, lock: lock)
            // `suspend` needs the cooperative pool, and `status` needs the file pool.
            await suspend(times: 100)
            for _ in 0..<30 { _ = try await FileIO.shared.status(of: URL(filePath: "/")) }
            await gate.open()
            try await holding.value
            for task in waiting { _ = try await task.value }
            #expect(try await database.count(settings) == 32)
            holder.close()
        }
    }

    @Test func `two deadlocked transactions both complete, because one is retried`() async throws {
        try await withTable(configuration: .init(concurrency: 2)) { (database, settings) async throws in
            _ = try await database.run([PostgresStatement("INSERT INTO note VALUES (1), (2)")], in: settings)
            let attempts = Recorder<Int>()
            let gate = Gate()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for first in [1, 2] {
                    group.addTask {
                        try await database.transaction(settings) { connection in
                            let isFirstAttempt = !attempts.values.contains(first)
                            attempts.note(first)
                            let take = "SELECT FROM note WHERE id = $1 FOR UPDATE"
                            _ = try await connection.run([PostgresStatement(take, [.integer(Int64(first))])])
                            if isFirstAttempt { await gate.pass() }
                            _ = try await connection.run([PostgresStatement(take, [.integer(Int64(3 - first))])])
                        }
                    }
                }
                await gate.arrivals(2)
                await gate.open()
                try await group.waitForAll()
            }
            #expect(attempts.values.count == 3)
        }
    }

    @Test func `a cancelled task's transaction completes, and the connection stays usable`() async throws {
        try await withTable(configuration: .init(concurrency: 2)) { (database, settings) async throws in
            for round in 0..<60 {
                let task = Task {
                    if round.isMultiple(of: 2) {
                        let one = PostgresStatement(Self.insert)
                        _ = try await database.run([one, one], in: settings)
                    } else {
                        try await database.transaction(settings) { connection in
                            _ = try await connection.run([PostgresStatement(Self.insert)])
                            _ = try await connection.run([PostgresStatement(Self.insert)])
                        }
                    }
                }
                await suspend(times: round % 20)
                task.cancel()
                // Even a task that was cancelled before it began completes.
                try await task.value
                #expect(try await database.count(settings) == 2 * (round + 1))
            }
        }
    }

    @Test func `a cancelled task can open a connection for its transaction`() async throws {
        let url = try PostgresServers.url
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await withDatabase(url) { (database) async throws in
                try await database.run([PostgresStatement("SELECT 7")])[0].scalar(as: Int.self)
            }
        }
        #expect(try await task.value == 7)
    }

    @Test func `a connection used twice concurrently traps`() async {
        await #expect(processExitsWith: .failure) {
            let connection = try await PostgresConnection.open(PostgresAddress(PostgresServers.url))
            async let first: Void = { _ = try await connection.run([PostgresStatement("SELECT pg_sleep(10)")]) }()
            async let second: Void = { _ = try await connection.run([PostgresStatement("SELECT pg_sleep(10)")]) }()
            _ = try await (first, second)
        }
    }
}
#endif
