import GRDB
import SluiceDatabase
package import SluiceFiles
package import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The directory of a cache, for programs that list, verify and shorten it. Other processes may use the cache meanwhile.
///
///     try await CacheDirectory.withDirectory(at: directory) { cache in
///         var position: CacheDirectory.Position? = .start
///         while let start = position {
///             let page = try await cache.entries(after: start)
///             for entry in page.entries { print(entry.url, entry.size) }
///             position = page.next
///         }
///     }
///
/// Nothing is created in a directory that isn't that of a cache.
///
/// - Failure: A `TransferError` with the code `cacheUnusable`, or a `FileError`.
package struct CacheDirectory: Sendable {
    let store: DiskStore
    let policy: CachePolicy
    let now: @Sendable () -> HTTPDate

    package var directory: URL { store.directory }

    /// Opens a directory that a cache has created, calls `body` and closes the directory.
    package static func withDirectory<R>(
        at directory: URL, using files: FileIO = .shared,
        now: @escaping @Sendable () -> HTTPDate = {
            HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        },
        _ body: (CacheDirectory) async throws -> R
    ) async throws -> R {
        try await check(directory, files)
        let store: DiskStore
        do {
            store = try await DiskStore.open(
                in: directory, limit: .max, entryLimit: .max, verification: .always, files: files)
        } catch let error as TransferError {
            throw (error.cause as? DatabaseFailure).map(unusable) ?? error
        }
        let cache = CacheDirectory(store: store, policy: CachePolicy(salt: store.salt), now: now)
        let result: R
        do {
            result = try await body(cache)
        } catch {
            try? await store.close()
            throw (error as? DatabaseFailure).map(unusable) ?? error
        }
        try await store.close()
        return result
    }

    private static let damagedRemedy = "Remove the directory. Its responses will be fetched again."

    // MARK: Checking before opening

    /// Throws if the directory has no index of this program. Reads only, because opening would create the index.
    private static func check(_ directory: URL, _ files: FileIO) async throws {
        guard let status = try await files.status(of: directory) else {
            throw unusable(
                directory, "There is no cache.",
                "Check the path. The directory of a cache is created when the cache is used for the first time.")
        }
        guard status.kind == .directory else {
            throw unusable(directory, "This isn't a directory.", "Name the directory of a cache.")
        }
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        let isFile = try await files.status(of: index)?.kind == .file
        let header =
            isFile ? try await index.withFileForReading(using: files) { try await $0.read(upToCount: 100) } : Data()
        let notACache = unusable(
            directory, "This isn't the directory of a cache\(isFile ? "" : ", because it has no index.db").",
            "Name the directory of a cache.")
        guard isFile else { throw notACache }
        guard !header.isEmpty else { throw notACache }
        guard header.count == 100, header.starts(with: Data("SQLite format 3\0".utf8)) else {
            throw unusable(index, "The index of the cache is damaged: it isn't a database.", damagedRemedy)
        }
        // The offsets are those of SQLite's file format (sqlite.org/fileformat.html, section 1.3).
        var (application, version) = (number(at: 68, of: header), number(at: 60, of: header))
        if application == 0 {
            // A cache that is open for the first time has all its tables in the log.
            guard try await files.exists(directory.appending(path: "index.db-wal", directoryHint: .notDirectory)) else {
                throw notACache
            }
            (application, version) = try await numbers(in: index, files)
        }
        guard application == DiskIndex.schema.application else { throw notACache }
        let known = DiskIndex.schema.migrations.count
        guard version <= known else {
            throw unusable(
                index,
                "The cache is of a newer version of the program: its tables have version \(version), and this program knows "
                    + "version \(known). Nothing was changed.",
                "Use the newer program, or another directory.")
        }
    }

    private static func number(at offset: Int, of header: Data) -> Int32 {
        Int32(bitPattern: header.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// Reads the numbers of the application and the version through SQLite, without writing.
    private static func numbers(in index: URL, _ files: FileIO) async throws -> (Int32, Int32) {
        try await files.runBlocking {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            do {
                let queue = try DatabaseQueue(path: index.path(percentEncoded: false), configuration: configuration)
                defer { try? queue.close() }
                return try queue.read { database in
                    (
                        try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0,
                        try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                    )
                }
            } catch let error as DatabaseError {
                throw unusable(
                    index, "The index of the cache can't be read: \(error.message ?? "\(error.resultCode)").",
                    damagedRemedy)
            }
        }
    }

    private static func unusable(_ failure: DatabaseFailure) -> TransferError {
        var remedy = failure.remedy
        if failure.code == .corrupt { remedy = damagedRemedy }
        if failure.code == .readOnly { remedy = "Allow this user to write the directory, or choose another directory." }
        var error = unusable(URL(filePath: failure.path), failure.message, remedy)
        error.cause = failure
        return error
    }

    private static func unusable(_ place: URL, _ message: String, _ remedy: String) -> TransferError {
        var error = TransferError(.cacheUnusable, url: place, message: message, remedy: remedy)
        let path = place.path(percentEncoded: false)
        error.subject = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        return error
    }
}
