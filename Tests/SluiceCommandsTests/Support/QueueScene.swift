import Foundation
import LoopbackOrigin
import SluiceCommands
import SluiceFiles
import TestSupport

/// A queue, and a server that its downloads come from. Several commands use them, one after another.
struct QueueScene: Sendable {
    /// Where the queue is.
    enum Place: Sendable, CaseIterable {
        /// A file in the temporary directory.
        case file
        #if PostgreSQL
        /// A queue with a unique name, in the database that Scripts/checks/postgres.sh starts.
        case postgres
        #endif

        /// The places that tests can use. Without a server, only the file.
        static var usable: [Place] {
            #if PostgreSQL
            PostgresServers.areThere ? allCases : [.file]
            #else
            allCases
            #endif
        }
    }

    struct Ended: Sendable {
        var status: ExitStatus
        var output: String
        var error: String
    }

    /// The JSON of `list`, as a program reads it.
    struct Listing: Decodable {
        struct Member: Decodable, Equatable {
            var user: String?
            var batch: String?
            var priority = 0
            var isPaused = false
        }

        struct Failure: Decodable {
            var code: String
            var subject: String
            var message: String
            var remedy: String?
            var status: Int?
        }

        struct Download: Decodable {
            var id: Int64
            var state: String
            var url: String
            var file: String
            var priority: Int
            var members: [Member]
            var failureCount: Int
            var receivedBytes: Int64?
            var totalBytes: Int64?
            var fileSize: Int64?
            var error: Failure?
            var notBefore: Date?

            var name: String { URL(filePath: file).lastPathComponent }
        }

        var counts: [String: Int]
        var running: [Download]
        var waiting: [Download]
        var paused: [Download]
        var failed: [Download]
        var ended: [Download]
    }

    let directory: URL
    let origin: LoopbackOrigin
    /// The argument of `--db`.
    let database: String

    static func run(
        on place: Place = .file,
        _ answer: @escaping @Sendable (OriginRequest) async -> OriginResponse = { _ in
            OriginResponse(body: Scenario.body)
        },
        during body: @escaping @Sendable (QueueScene) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve(answer) { origin in
                try await body(
                    QueueScene(
                        directory: directory, origin: origin, database: try place.newQueue("queue.db", in: directory)))
            }
        }
    }

    var files: URL { directory.appending(path: "files", directoryHint: .isDirectory) }

    /// Runs `sluice queue COMMAND --db DATABASE …` in this process.
    func queue(_ command: String, _ arguments: String...) async -> Ended {
        await queue(command, arguments)
    }

    func queue(_ command: String, _ arguments: [String]) async -> Ended {
        await sluice(["queue", command, "--db", database] + arguments)
    }

    func sluice(_ arguments: [String]) async -> Ended {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(arguments, console: console.console)
        return Ended(status: status, output: console.output, error: console.error)
    }

    /// Adds downloads of these paths from the server.
    @discardableResult
    func add(_ paths: [String], _ options: String...) async -> Ended {
        await queue("add", ["-d", files.path] + options + paths.map(origin.url))
    }

    func listing(of database: String? = nil) async throws -> Listing {
        let ended = await sluice(["queue", "list", "--db", database ?? self.database, "--json", "--limit", "1000"])
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(Listing.self, from: Data(ended.output.utf8))
    }

    /// The names of the downloaded files.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: files.path)) ?? []).sorted()
    }
}

extension QueueScene.Place {
    /// The argument of `--db` for a queue that doesn't exist yet.
    func newQueue(_ name: String, in directory: URL) throws -> String {
        switch self {
        case .file: directory.appending(path: name).path
        #if PostgreSQL
        case .postgres: try PostgresServers.newQueue()
        #endif
        }
    }
}
