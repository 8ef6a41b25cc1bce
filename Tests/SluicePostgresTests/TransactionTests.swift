#if PostgreSQL
import Foundation
import SluiceFiles
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(5))) struct `Transactions of PostgreSQL` {
    private struct Refused: Error {}

    private static let insert = "INSERT INTO note SELECT coalesce(max(id), 0) + 1 FROM note"

    @Test func `a body that throws leaves nothing`() async throws {
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

    @Test func `if a statement fails, those before it are undone`() async throws {
        try await withTable { (database, settings) async throws in
            let one = PostgresStatement("INSERT INTO note VALUES (1)")
            for statements in [[one, one], [one, PostgresStatement("SELECT 1 / 0"), one]] {
                await #expect(throws: PostgresError.self) { try await database.run(statements, in: settings) }
                #expect(try await database.count(settings) == 0)
            }
            // A body that ignores the error is rolled back too, and learns it.
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
    @Test(arguments: `Statements of PostgreSQL`.Way.allCases)
    func `of 64 concurrent transactions with a lock, each sees those before it`(
        way: `Statements of PostgreSQL`.Way
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

    @Test func `while 32 transactions wait for a lock, the heart beats and files are read`() async throws {
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
            // Each beat is a turn of a thread of the cooperative pool, and each status a job of the file pool.
            await suspend(times: 100)
            for _ in 0..<30 { _ = try await FileIO.shared.status(of: URL(filePath: "/")) }
            await gate.open()
            try await holding.value
            for task in waiting { _ = try await task.value }
            #expect(try await database.count(settings) == 32)
            holder.close()
        }
    }

    @Test func `two transactions that wait for each other both end, because one is tried again`() async throws {
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

    @Test func `a transaction of a cancelled task is whole or absent, and the connection remains usable`() async throws
    {
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
                // Even one that was cancelled before it began is completed.
                try await task.value
                #expect(try await database.count(settings) == 2 * (round + 1))
            }
        }
    }

    @Test func `a cancelled task opens a connection for its transaction`() async throws {
        let url = try Servers.url
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
            let connection = try await PostgresConnection.open(PostgresAddress(Servers.url))
            async let first: Void = { _ = try await connection.run([PostgresStatement("SELECT pg_sleep(10)")]) }()
            async let second: Void = { _ = try await connection.run([PostgresStatement("SELECT pg_sleep(10)")]) }()
            _ = try await (first, second)
        }
    }
}
#endif
