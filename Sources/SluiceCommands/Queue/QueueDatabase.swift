import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if PostgreSQL
import SluicePostgres
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The queue that an argument names.
struct QueueDatabase: Sendable {
    /// The argument. It may contain a password, so messages use ``title``.
    let name: String
    /// The option that has the argument, for messages.
    var option = "--db"
    /// The command, for messages.
    let command: String

    /// Returns the store that the argument names, without opening it.
    ///
    /// - Throws: ``CommandFailure`` if the argument isn't valid, or if this build doesn't have such a store.
    func store() throws(CommandFailure) -> DownloadStore {
        switch try address() {
        case .file(let url): return .sqlite(at: url)
        #if PostgreSQL
        case .postgres(let url, let queue):
            do {
                _ = try PostgresAddress(url)
            } catch {
                throw CommandFailure(.usage, "\(option) \(error) See 'sluice \(helpName) --help'.")
            }
            return .postgres(url, queue: queue)
        #else
        case .postgres(let url, _):
            // The address isn't repeated: it may contain a password.
            let scheme = url.hasPrefix("postgres:") ? "postgres" : "postgresql"
            throw CommandFailure(
                .usage,
                "\(option) \(scheme)://…: This build of sluice has no PostgreSQL store. Build with --traits PostgreSQL, or name a "
                    + "file. See 'sluice \(helpName) --help'.")
        #endif
        }
    }

    private func address() throws(CommandFailure) -> QueueAddress {
        do throws(QueueAddress.Problem) {
            return try QueueAddress(name)
        } catch {
            let subject = error.subject.isEmpty ? "" : " \(error.subject)"
            throw CommandFailure(.usage, "\(option)\(subject): \(error.message) See 'sluice \(helpName) --help'.")
        }
    }

    private var helpName: String { command == "get" ? command : "queue \(command)" }

    /// The name of the queue for people, without a password: the argument, or `postgres://ann@db.example/sluice#songs`.
    var title: String { names.title }

    /// The last part of the title, which leaves room for other text in a line: `queue.db`, or `sluice#songs`.
    var shortTitle: String { names.short }

    private var names: (title: String, short: String) {
        func last(_ text: String) -> String { String(text.split(separator: "/").last ?? "") }
        #if PostgreSQL
        if case .postgres(let url, let queue)? = try? address(), let subject = try? PostgresAddress(url).subject {
            let end = queue == QueueAddress.defaultQueue ? "" : "#\(queue)"
            return (subject + end, last(subject) + end)
        }
        #endif
        return (name, last(name))
    }

    /// Whether workers on several machines can use the queue.
    var spansMachines: Bool {
        if case .postgres? = try? address() { true } else { false }
    }

    /// Opens the queue, passes it to `body`, and closes it.
    ///
    /// - Parameters:
    ///   - isCreated: Whether a missing queue is created.
    ///   - body: A function that uses the queue. Its `QueueStoreError` becomes a ``CommandFailure``.
    /// - Throws: ``CommandFailure``; the error of `body`.
    func withQueue<Value: Sendable>(
        creating isCreated: Bool = false,
        _ body: @Sendable (DownloadCoordinator) async throws -> Value
    ) async throws -> Value {
        try await withStore { store in
            if !isCreated { try await checkExistence(of: store) }
            let downloads = DownloadCoordinator(store: store)
            try await downloads.open()
            return try await body(downloads)
        }
    }

    /// Throws if the queue is missing: a wrong name must not look like an empty queue.
    func checkExistence() async throws {
        try await withStore { try await checkExistence(of: $0) }
    }

    /// Whether two names lead to the same queue. `false` if that can't be determined.
    func isSame(as other: QueueDatabase) async -> Bool {
        guard let mine = try? await identity(), let theirs = try? await other.identity() else { return false }
        return mine == theirs
    }

    /// Runs `body`, and converts its `QueueStoreError` to a ``CommandFailure`` that names the option.
    func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as QueueStoreError {
            throw CommandFailure(.store, "\(option) \(error)")
        }
    }

    private func withStore<Value: Sendable>(_ body: (DownloadStore) async throws -> Value) async throws -> Value {
        let store = try store()
        return try await naming {
            let result = await Result { try await body(store) }
            try await store.queue.close()
            return try result.get()
        }
    }

    private func checkExistence(of store: DownloadStore) async throws {
        #if PostgreSQL
        if let queue = store.queue as? PostgresQueueStore {
            guard try await queue.exists() else {
                throw CommandFailure(
                    .store,
                    "\(option) \(title): No such queue in this database. Check the name, or create it with 'sluice queue add'."
                )
            }
            return
        }
        #endif
        guard case .file(let url) = try address() else { return }
        do {
            guard try await FileIO.shared.exists(url) else {
                throw CommandFailure(
                    .store,
                    "\(option) \(name): No database found. Check the name, or create it with 'sluice queue add'.")
            }
        } catch let error as FileError {
            throw CommandFailure(.store, "\(option) \(error)")
        }
    }

    private enum Identity: Sendable, Equatable {
        case file(FileIdentity)
        case postgres(String)
    }

    /// Returns `nil` if the queue is missing.
    private func identity() async throws -> Identity? {
        try await withStore { store in
            #if PostgreSQL
            if let queue = store.queue as? PostgresQueueStore {
                return try await queue.identity().map { .postgres($0) }
            }
            #endif
            guard case .file(let url) = try address() else { return nil }
            return try await FileIO.shared.status(of: url).map { .file($0.identity) }
        }
    }
}

// MARK: - The argument

/// What the argument of `--db` names: a database file, or a queue in a PostgreSQL database.
///
/// The name of a queue in a PostgreSQL database follows the URL of the database, after `#`: `postgres://ann@db.example/sluice#songs`.
/// Without it, the queue is `default`.
enum QueueAddress: Sendable, Equatable {
    case file(URL)
    /// The URL is the part that libpq reads.
    case postgres(url: String, queue: String)

    static let defaultQueue = "default"

    /// A message about an invalid argument. It doesn't contain the argument, which may contain a password.
    struct Problem: Error, Equatable {
        /// What the message is about; empty for an empty argument.
        var subject: String
        var message: String
    }

    init(_ argument: String) throws(Problem) {
        guard !argument.isEmpty else {
            throw Problem(subject: "", message: "The file name is empty. Name a file.")
        }
        let lowercased = argument.lowercased()
        guard let scheme = ["postgres", "postgresql"].first(where: { lowercased.hasPrefix("\($0)://") }) else {
            self = .file(URL(filePath: argument, directoryHint: .notDirectory))
            return
        }
        // libpq accepts the schemes only in lowercase.
        let url = scheme + argument.dropFirst(scheme.count)
        // libpq accepts `#` in a user name and in a password, which end at `@`.
        guard let mark = url.lastIndex(of: "#"), !url[mark...].contains("@") else {
            self = .postgres(url: url, queue: Self.defaultQueue)
            return
        }
        guard let bytes = url[url.index(after: mark)...].percentDecodedBytes,
            let queue = String(validating: bytes, as: UTF8.self), Self.isName(queue)
        else {
            throw Problem(
                subject: "\(scheme)://…",
                message:
                    "The name of the queue after # isn't valid. Write 1 to 255 bytes without control characters, with "
                    + "% codes for special characters, or leave out #.")
        }
        self = .postgres(url: String(url[..<mark]), queue: queue)
    }

    private static func isName(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
