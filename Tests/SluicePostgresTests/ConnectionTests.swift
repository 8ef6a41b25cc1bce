#if PostgreSQL
import Foundation
import SluiceConcurrency
import SluiceFiles
import SluicePostgres
import TestSupport
import Testing

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `Connecting to PostgreSQL` {
    private func open(_ url: String) async throws {
        try await PostgresConnection.open(PostgresAddress(url)).close()
    }

    @Test func `a wrong password throws, and no message contains it`() async throws {
        let url = try PostgresServers.url { $0.password = "wrong-password" }
        let error = await expectPostgresError(.loginRefused) { try await open(url) }
        #expect(error?.sqlState == "28P01" && error?.remedy?.contains("password") == true)
        let address = try PostgresAddress(url)
        var texts = "\(address) \(String(describing: error))"
        dump(address, to: &texts)
        #expect(!texts.contains("wrong-password"))
        #expect(error?.subject.hasPrefix("postgres://sluice@127.0.0.1:") == true)
    }

    @Test func `pgbouncer reports a wrong password and an unknown database as different errors`() async throws {
        var parts = try #require(URLComponents(string: try PostgresServers.pooler))
        parts.password = "wrong-password"
        let wrong = try #require(parts.string)
        await expectPostgresError(.loginRefused) { try await open(wrong) }
        parts = try #require(URLComponents(string: try PostgresServers.pooler))
        parts.path = "/missing"
        let missing = try #require(parts.string)
        await expectPostgresError(.unknownDatabase) { try await open(missing) }
    }

    @Test func `an unknown database throws an error that names it`() async throws {
        let url = try PostgresServers.url { $0.path = "/missing" }
        let error = await expectPostgresError(.unknownDatabase) { try await open(url) }
        #expect(error?.sqlState == "3D000" && error?.message.contains("missing") == true)
        #expect(error?.remedy?.contains("createdb") == true)
    }

    @Test func `a closed port throws and says to check that the server runs`() async throws {
        // Nothing listens on a port that was bound and closed.
        let url = try PostgresServers.url { $0.port = closedPort() }
        let error = await expectPostgresError(.cannotConnect) { try await open(url) }
        #expect(error?.message == "The server can't be reached: Connection refused.", "\(String(describing: error))")
        #expect(error?.remedy?.contains("server runs") == true)
    }

    @Test func `an unknown host name throws and says to check the host`() async throws {
        let url = try PostgresServers.url { $0.host = "no-such-host.invalid" }
        let error = await expectPostgresError(.cannotConnect) { try await open(url) }
        #expect(error?.remedy?.contains("Check the host in the URL") == true, "\(String(describing: error))")
    }

    @Test func `the next host is tried if the first doesn't respond`() async throws {
        let url = try PostgresServers.url
        let port = try #require(URLComponents(string: url)?.port)
        let two = url.replacing("127.0.0.1:\(port)", with: "127.0.0.1:\(closedPort()),127.0.0.1:\(port)")
        try await open(two)
    }

    @Test func `connecting to a silent server throws after the time limit`() async throws {
        let silent = try SilentServer()
        let url = try PostgresServers.url {
            $0.port = silent.port
            $0.query = nil
        }
        let address = try PostgresAddress(url)
        let error = await expectPostgresError(.cannotConnect) {
            try await PostgresConnection.open(address, timeout: .milliseconds(300)).close()
        }
        #expect(error?.cause is DeadlineExceeded)
        let attempt = Task { try await PostgresConnection.open(address, timeout: .seconds(600)).close() }
        let accepted = await silent.connections(2)
        attempt.cancel()
        await #expect(throws: CancellationError.self) { try await attempt.value }
        for connection in accepted { close(connection) }
    }

    @Test func `a hang-up while connecting throws an error that says so`() async throws {
        let silent = try SilentServer()
        let address = try PostgresAddress(try PostgresServers.url { $0.port = silent.port })
        let attempt = Task { try await PostgresConnection.open(address).close() }
        for connection in await silent.connections(1) { close(connection) }
        let error = await expectPostgresError(.cannotConnect) { try await attempt.value }
        #expect(error?.message.contains("closed the connection") == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        "mysql://user:hunter2@host/db", "postgres://user:hunter2@host:port/db", "postgres://user:hunter2@[::1/db",
        "postgres://user:%zzhunter2@host/db", "postgres://user:hunter2@host/db?=",
        "postgres://user:hunter2@host/db?sslmod=off",
    ])
    func `an invalid database URL throws without repeating it`(text: String) async throws {
        let error = await expectPostgresError(.invalidURL) { _ = try PostgresAddress(text) }
        #expect(error?.description.contains("hunter2") == false)
        #expect(error?.message.contains("sslmod") == text.contains("sslmod"))
    }

    @Test func `an error's subject has neither password nor options`() throws {
        let address = try PostgresAddress(
            "postgresql://me:hunter2@db.example:6543/songs?password=hunter3&sslmode=require")
        #expect(address.subject == "postgres://me@db.example:6543/songs")
        #expect("\(address)" == address.subject)
    }

    @Test func `the first connection of a database isn't retried`() async throws {
        let url = try PostgresServers.url { $0.port = closedPort() }
        let configuration = PostgresDatabase.Configuration(retryTimeout: .seconds(3600), firstPause: .seconds(600))
        try await withDatabase(url, configuration: configuration) { (database) async throws in
            await expectPostgresError(.cannotConnect) { _ = try await database.run([PostgresStatement("SELECT 1")]) }
        }
    }

    @Test func `a transaction on a closed database throws`() async throws {
        try await withDatabase { (database) async throws in
            _ = try await database.run([PostgresStatement("SELECT 1")])
            await database.close()
            await expectPostgresError(.closed) { _ = try await database.run([PostgresStatement("SELECT 1")]) }
        }
    }

    // In a child process, because other tests open descriptors, too.
    @Test func `connections leave no file descriptor open, however they end`() async {
        await #expect(processExitsWith: .success) {
            let wrong = try PostgresServers.url { $0.password = "wrong-password" }
            let closed = try PostgresServers.url { $0.port = closedPort() }
            func round() async throws {
                for url in [wrong, closed] { _ = try? await PostgresConnection.open(PostgresAddress(url)) }
                let cancelled = Task { try await PostgresConnection.open(PostgresAddress(try PostgresServers.url)) }
                await suspend(times: 3)
                cancelled.cancel()
                _ = await cancelled.result
                try await withDatabase(configuration: .init(retryTimeout: .zero)) { (database) async throws in
                    _ = try await database.run([PostgresStatement("SELECT 1")])
                    // Terminates its own session.
                    _ = try? await database.run([PostgresStatement("SELECT pg_terminate_backend(pg_backend_pid())")])
                }
                let listener = try PostgresListener(PostgresDatabase(try PostgresServers.url), channel: "descriptors")
                _ = try await listener.next(timeout: .seconds(600))
            }
            try await round()
            let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            for _ in 0..<5 { try await round() }
            let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            #expect(before == after)
        }
    }
}

/// A port on which nothing listens.
private func closedPort() -> Int {
    guard let server = try? SilentServer() else { return 1 }
    return server.port
}

/// A server that accepts connections and sends nothing.
private final class SilentServer: Sendable {
    private let descriptor: CInt
    let port: Int

    init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, length) = (descriptor, size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) + listen(descriptor, 16) + getsockname(descriptor, pointer, &size)
            }
        }
        try #require(result == 0)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// Waits until this many connections have been made, accepts and returns them.
    func connections(_ count: Int) async -> [CInt] {
        var accepted: [CInt] = []
        while accepted.count < count {
            try? await FileIO.shared.waitUntilReady(descriptor, .reading, "port of the test")
            accepted.append(accept(descriptor, nil, nil))
        }
        return accepted
    }

    deinit { close(descriptor) }
}

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `Lost connections to PostgreSQL` {
    private static let insert = PostgresStatement("INSERT INTO note SELECT coalesce(max(id), 0) + 1 FROM note")

    @Test func `a session terminated during a statement throws an error that says so`() async throws {
        try await withDatabase { (database) async throws in
            let connection = try await PostgresConnection.open(database.address)
            let process = try await connection.process()
            let lock = Int64.random(in: 0 ... .max)
            let holder = try await PostgresConnection.open(database.address)
            try await holder.transaction(PostgresTransaction(lock: lock)) { _ in
                let statement = Task { try await connection.run([.lock(lock)]) }
                try await database.waitForWaiters(1, lock: lock)
                _ = try await database.run([
                    PostgresStatement("SELECT pg_terminate_backend($1::int4)", [.integer(process)])
                ])
                let error = await expectPostgresError(.connectionLost) { _ = try await statement.value }
                #expect(error?.sqlState == "57P01" && error?.isTransient == true)
            }
            #expect(!connection.isUsable())
            await expectPostgresError(.connectionLost) { _ = try await connection.run([PostgresStatement("SELECT 1")]) }
            connection.close()
            holder.close()
        }
    }

    @Test func `a transaction whose session is terminated runs once more`() async throws {
        try await withTable { (database, settings) async throws in
            let attempts = Recorder<Int64>()
            try await database.transaction(settings) { connection in
                let process = try await connection.process()
                attempts.note(process)
                _ = try await connection.run([Self.insert])
                if attempts.values.count == 1 {
                    let killer = try await PostgresConnection.open(database.address)
                    _ = try await killer.run([
                        PostgresStatement("SELECT pg_terminate_backend($1::int4, 10000)", [.integer(process)])
                    ])
                    killer.close()
                }
                _ = try await connection.run([Self.insert])
            }
            #expect(attempts.values.count == 2 && Set(attempts.values).count == 2)
            #expect(try await database.count(settings) == 2)
        }
    }

    @Test func `a batch whose session is terminated before the commit runs again`() async throws {
        try await withTable { (database, settings) async throws in
            _ = try await database.run([PostgresStatement("CREATE SEQUENCE attempt")], in: settings)
            // A sequence isn't rolled back, so only the first attempt terminates its session.
            let terminate = PostgresStatement(
                "SELECT CASE WHEN nextval('attempt') = 1 THEN pg_terminate_backend(pg_backend_pid()) END")
            _ = try await database.run([Self.insert, terminate, Self.insert], in: settings)
            #expect(try await database.count(settings) == 2)
        }
    }

    @Test func `terminated idle connections are replaced without an error`() async throws {
        try await withTable(configuration: .init(concurrency: 1)) { (database, settings) async throws in
            for _ in 0..<5 {
                let process = try await database.transaction(settings) { try await $0.process() }
                let killer = try await PostgresConnection.open(database.address)
                _ = try await killer.run([
                    PostgresStatement("SELECT pg_terminate_backend($1::int4, 10000)", [.integer(process)])
                ])
                killer.close()
                _ = try await database.run([Self.insert], in: settings)
            }
            #expect(try await database.count(settings) == 5)
        }
    }

    @Test func `a commit without a response is retried only if the transaction is idempotent`() async throws {
        try await withTable(configuration: .init(concurrency: 1)) { (database, settings) async throws in
            // The first time, a deferred trigger terminates the session during COMMIT.
            _ = try await database.run(
                [
                    PostgresStatement("CREATE SEQUENCE attempt"),
                    PostgresStatement(
                        """
                        CREATE FUNCTION terminate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                            IF nextval('attempt') IN (1, 3, 5) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                            RETURN NULL;
                        END $$
                        """),
                    PostgresStatement(
                        """
                        CREATE CONSTRAINT TRIGGER terminate AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION terminate()
                        """),
                ], in: settings)
            let error = await expectPostgresError(.outcomeUnknown) {
                _ = try await database.run([Self.insert], in: settings)
            }
            #expect(error?.isTransient == false && error?.cause is PostgresError)
            #expect(try await database.count(settings) == 0)
            _ = try await database.run([PostgresStatement("SELECT nextval('attempt')")], in: settings)
            await expectPostgresError(.outcomeUnknown) {
                try await database.transaction(settings) { _ = try await $0.run([Self.insert]) }
            }
            _ = try await database.run([PostgresStatement("SELECT nextval('attempt')")], in: settings)
            var idempotent = settings
            idempotent.isIdempotent = true
            _ = try await database.run([Self.insert], in: idempotent)
            #expect(try await database.count(settings) == 1)
        }
    }

    @Test func `connections recover after a killed server restarts, and no commit is lost`() async throws {
        try await withMortalServer { url in
            try await withTable(url, configuration: .init(concurrency: 2)) {
                (database, settings) async throws in
                let listener = PostgresListener(database, channel: "mortal")
                #expect(try await listener.next(timeout: .seconds(600)).isNewConnection)
                _ = try await database.run([Self.insert], in: settings)
                let connection = try await PostgresConnection.open(database.address)
                let statement = Task { try await connection.run([PostgresStatement("SELECT pg_sleep(60)")]) }
                try await controlMortalServer("kill")
                await expectPostgresError(.connectionLost) { _ = try await statement.value }
                connection.close()
                // The server can't be reached now, so this transaction is retried until it can. It takes several round trips, because a
                // connection that is lost during a single one may be lost during the commit.
                let insert = Task {
                    try await database.transaction(settings) { _ = try await $0.run([Self.insert]) }
                }
                let cancelled = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await database.run([Self.insert], in: settings)
                }
                let error = await expectPostgresError(.cannotConnect) { _ = try await cancelled.value }
                #expect(error?.isTransient == true)
                #expect(try await listener.next(timeout: .milliseconds(200)) == PostgresListener.Wakeup())
                try await controlMortalServer("start")
                try await insert.value
                #expect(try await database.count(settings) == 2)
                #expect(try await listener.next(timeout: .seconds(600)).isNewConnection)
                _ = try await database.run([.notify("mortal", "again")])
                #expect(try await listener.next(timeout: .seconds(600)).notifications.map(\.payload) == ["again"])
                listener.close()
            }
        }
    }
}

@Suite(.needsPostgres, .timeLimit(.minutes(15))) struct `PostgreSQL notifications` {
    /// A separate channel, whose name must be quoted.
    private let channel = "test \"\(UInt64.random(in: 0 ... .max))\""

    @Test func `a notification ends a wait, and duplicates in one transaction arrive once`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            #expect(try await listener.next(timeout: .seconds(600)) == PostgresListener.Wakeup(isNewConnection: true))
            let wait = Task { try await listener.next(timeout: .seconds(600)) }
            _ = try await database.run([.notify(channel, "a"), .notify(channel, "a"), .notify(channel, "b")])
            #expect(try await wait.value.notifications.map(\.payload) == ["a", "b"])
            listener.close()
        }
    }

    @Test func `a rolled back transaction sends no notification, and a wait times out`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            _ = try await listener.next(timeout: .seconds(600))
            await #expect(throws: PostgresError.self) {
                try await database.run([.notify(channel), PostgresStatement("SELECT 1 / 0")])
            }
            #expect(try await listener.next(timeout: .milliseconds(100)) == PostgresListener.Wakeup())
            listener.close()
        }
    }

    @Test func `cancelling a wait loses no notification`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            _ = try await listener.next(timeout: .seconds(600))
            for round in 0..<30 {
                let wait = Task { try await listener.next(timeout: .seconds(600)) }
                await suspend(times: round % 8)
                wait.cancel()
                _ = await wait.result
            }
            _ = try await database.run([.notify(channel, "after")])
            #expect(try await listener.next(timeout: .seconds(600)).notifications.map(\.payload) == ["after"])
            listener.close()
        }
    }

    @Test func `a terminated session is replaced, and the next wait reports a new connection`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            _ = try await listener.next(timeout: .seconds(600))
            let terminate = PostgresStatement(
                "SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity WHERE query = $1",
                [.text("LISTEN \(PostgresStatement.quoted(channel))")])
            #expect(try await database.run([terminate])[0].count == 1)
            #expect(try await listener.next(timeout: .seconds(600)).isNewConnection)
            _ = try await database.run([.notify(channel, "new")])
            #expect(try await listener.next(timeout: .seconds(600)).notifications.map(\.payload) == ["new"])
            listener.close()
        }
    }

    @Test func `notifications arrive over a direct connection, but not through pgbouncer`() async throws {
        try await withDatabase { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            #expect(try await listener.receivesNotifications(timeout: .seconds(600)))
            #expect(try await listener.next(timeout: .milliseconds(10)) == PostgresListener.Wakeup())
            listener.close()
        }
        try await withDatabase(try PostgresServers.pooler) { (database) async throws in
            let listener = PostgresListener(database, channel: channel)
            #expect(try await listener.receivesNotifications(timeout: .milliseconds(500)) == false)
            listener.close()
        }
    }
}
#endif
