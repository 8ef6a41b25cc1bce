import SluiceCache
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The directory of a cache: the one that an option names, or the default directory.
struct CacheLocation: Sendable {
    /// The limit for the default directory, which all commands share.
    static let maximumDiskSize: Int64 = 256 << 20

    /// The limit of a cache that ``withCache(concurrency:concurrencyPerHost:transport:_:)`` opens.
    let limit: Int64
    let directory: URL
    let isDefault: Bool
    /// The option that named the directory, or `nil` for the default directory.
    private let option: String?

    /// - Parameters:
    ///   - path: The value of the option, or `nil` for the default directory.
    ///   - option: The option that names another directory, for messages.
    ///   - command: The command that has the option, for messages.
    /// - Throws: ``CommandFailure`` if the path is empty or there is no default directory.
    init(_ path: String?, option: String, command: String, _ console: Console) throws(CommandFailure) {
        limit = console.cacheLimit
        if let path {
            guard !path.isEmpty else {
                throw CommandFailure(
                    .usage, "\(option): The name is empty. Name a directory. See 'sluice \(command) --help'.")
            }
            directory = URL(filePath: path, directoryHint: .isDirectory).standardizedFileURL
            self.option = option
        } else {
            guard let standard = console.cacheDirectory else {
                throw CommandFailure(
                    .usage,
                    "No cache directory could be determined. Set HOME or XDG_CACHE_HOME, or name a directory with \(option)."
                )
            }
            directory = standard
            self.option = nil
        }
        isDefault = directory.path(percentEncoded: false) == console.cacheDirectory?.path(percentEncoded: false)
    }

    /// The path for messages and tables, without a trailing slash.
    var path: String {
        let path = directory.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Opens the directory, calls `body`, and closes the directory. Throws if the directory isn't a cache.
    func withDirectory<Value>(_ body: (CacheDirectory) async throws -> Value) async throws -> Value {
        try await naming { try await CacheDirectory.withDirectory(at: directory, body) }
    }

    /// How long a command waits at its end for background validations. Without this wait, a response that may be used while it is being
    /// validated would never be validated.
    private static let validationTime: Duration = .seconds(10)

    /// Opens the cache, calls `body`, and shuts the cache down. Creates the cache if it is missing.
    func withCache<Value>(
        concurrency: Int, concurrencyPerHost: Int, transport: any Transport,
        _ body: (ResourceCache) async throws -> Value
    ) async throws -> Value {
        try await checkContents()
        let entryLimit = limit / 10
        let configuration = ResourceCache.Configuration(
            concurrency: concurrency, concurrencyPerHost: concurrencyPerHost, maximumMemorySize: 0,
            maximumDiskSize: limit, maximumDiskEntrySize: entryLimit, maximumResponseSize: Int(entryLimit),
            // The download queue retries.
            retries: RetryPolicy(maximumRetries: 0))
        let cache = ResourceCache(directory: directory, configuration: configuration, transport: transport)
        try await naming { try await cache.open() }
        let result = await Result { try await body(cache) }
        if case .success = result { await cache.finishValidations(within: Self.validationTime) }
        let closing = await Result { try await naming { try await cache.shutdown() } }
        let value = try result.get()
        try closing.get()
        return value
    }

    /// Throws if the user has named a directory with other files, because a cache's limit applies to the whole directory.
    private func checkContents() async throws {
        guard let option else { return }
        let files = FileIO.shared
        try await naming {
            let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
            guard try await files.status(of: directory)?.kind == .directory, try await !files.exists(index) else {
                return
            }
            for try await entry in files.listing(of: directory) where !entry.name.hasPrefix("writer-") {
                throw CommandFailure(
                    .localFile,
                    "\(option) \(path): The directory contains other files, such as '\(entry.name)'. Name an empty or a missing "
                        + "directory.")
            }
        }
    }

    private func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
        let prefix = option.map { "\($0): " } ?? ""
        do {
            return try await body()
        } catch let error as TransferError where error.code == .cacheUnusable {
            throw CommandFailure(.localFile, "\(prefix)\(error)")
        } catch let error as FileError where error.code != .cancelled {
            throw CommandFailure(
                .localFile, "\(prefix)\(error)\(error.remedy == nil ? " Choose another directory." : "")")
        }
    }
}
