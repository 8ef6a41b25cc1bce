import SluiceConcurrency
import SluiceDownloads
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The queue that an argument names.
struct QueueDatabase: Sendable {
    /// The argument.
    let name: String
    /// The option of the argument, for messages.
    var option = "--db"
    /// The command, for messages.
    let command: String

    /// Returns the store that the argument names, without opening it.
    ///
    /// - Throws: ``CommandFailure`` if this build doesn't have such a store.
    func store() throws(CommandFailure) -> DownloadStore {
        guard !name.isEmpty else {
            throw CommandFailure(
                .usage, "\(option): The file name is empty. Name a file. See 'sluice queue \(command) --help'.")
        }
        // The address isn't repeated: it may contain a password.
        if let scheme = ["postgres", "postgresql"].first(where: { name.lowercased().hasPrefix("\($0)://") }) {
            throw CommandFailure(
                .usage,
                "\(option) \(scheme)://…: This build of sluice has no PostgreSQL store. Build with --traits PostgreSQL, or name a "
                    + "file.")
        }
        return .sqlite(at: url)
    }

    private var url: URL { URL(filePath: name, directoryHint: .notDirectory) }

    /// Opens the queue, passes it to `body`, and closes it.
    ///
    /// - Parameters:
    ///   - isCreated: Whether a missing queue is created.
    ///   - body: A function that uses the queue. Its `QueueStoreError` becomes a ``CommandFailure``.
    /// - Throws: ``CommandFailure``; the error of `body`.
    func withQueue<Value: Sendable>(
        creating isCreated: Bool = false,
        _ body: @Sendable (DownloadCoordinator, any QueueStore) async throws -> Value
    ) async throws -> Value {
        let store = try store()
        if !isCreated { try await checkExistence() }
        return try await naming {
            let downloads = DownloadCoordinator(store: store)
            let result = await Result {
                try await downloads.open()
                return try await body(downloads, store.queue)
            }
            try await downloads.close()
            return try result.get()
        }
    }

    /// Runs `body`, and converts its `QueueStoreError` to a ``CommandFailure`` that names the option.
    func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as QueueStoreError {
            throw CommandFailure(.store, "\(option) \(error)")
        }
    }

    /// Throws if the queue is missing: a wrong name must not look like an empty queue.
    func checkExistence() async throws {
        do {
            guard try await FileIO.shared.exists(url) else {
                throw CommandFailure(
                    .store,
                    "\(option) \(name): There is no such database. Check the name, or create it with 'sluice queue add'."
                )
            }
        } catch let error as FileError {
            throw CommandFailure(.store, "\(option) \(error)")
        }
    }

    /// Whether two names lead to the same file.
    func isSame(as other: QueueDatabase) async -> Bool {
        guard let mine = try? await FileIO.shared.status(of: url),
            let theirs = try? await FileIO.shared.status(of: other.url)
        else { return false }
        return mine.identity == theirs.identity
    }
}
