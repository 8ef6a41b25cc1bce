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
                in: directory, limit: .max, entryLimit: .max, largestInIndex: DiskStore.largestInIndex,
                verification: .always, files: files)
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

    // MARK: Checking before opening

    /// Throws if the directory has no index of this program. Reads only, because opening would create the index.
    private static func check(_ directory: URL, _ files: FileIO) async throws {
        guard let status = try await files.status(of: directory) else {
            throw unusable(
                directory, "No cache found.",
                "Check the path. The directory of a cache is created when the cache is used for the first time.")
        }
        guard status.kind == .directory else {
            throw unusable(directory, "This isn't a directory.", "Name the directory of a cache.")
        }
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        let size = try await files.status(of: index).map { $0.kind == .file ? $0.size : nil } ?? nil
        let notACache = unusable(
            directory, "This isn't the directory of a cache\(size == nil ? ", because it has no index.db" : "").",
            "Name the directory of a cache.")
        guard let size, size > 0 else { throw notACache }
        let log = directory.appending(path: "index.db-wal", directoryHint: .notDirectory)
        let hasLog = try await files.exists(log)
        var header: IndexHeader?
        do {
            header = try await read(index, files) { try IndexHeader(of: index) }
        } catch let error as TransferError where !hasLog {
            throw error
        } catch is TransferError {
            // Without the log, the file of a killed process or a full disk may look damaged.
        }
        if hasLog, header.map({ $0.application == 0 }) ?? true {
            // A cache that is open for the first time has all its tables in the log.
            header = try await read(index, files) { try IndexHeader(withLogOf: index) }
        }
        guard let header, header.application == DiskIndex.schema.application else { throw notACache }
        let known = DiskIndex.schema.migrations.count
        guard header.version <= known else {
            throw unusable(
                index,
                "The cache is of a newer version of the program: its tables have version \(header.version), and this program knows "
                    + "version \(known). Nothing was changed.",
                "Use the newer program, or another directory.")
        }
    }

    private static func read(
        _ index: URL, _ files: FileIO, _ header: @escaping @Sendable () throws -> IndexHeader
    ) async throws -> IndexHeader {
        do {
            return try await files.runBlocking(header)
        } catch let error as DatabaseError {
            let cause = error.message ?? "\(error.resultCode)"
            guard error.resultCode == .SQLITE_NOTADB || error.resultCode == .SQLITE_CORRUPT else {
                throw unusable(
                    index, "The index of the cache can't be read: \(cause).",
                    "Check that this user may read the file, and that no other program keeps it locked.")
            }
            // It may be the file of another program.
            throw unusable(
                index, "The index of the cache can't be read: \(cause).",
                "Check that this is the directory of a cache. If it is, remove it, and its responses will be fetched again."
            )
        }
    }

    private static func unusable(_ failure: DatabaseFailure) -> TransferError {
        var remedy = failure.remedy
        // The application number of the index has been checked.
        if failure.code == .corrupt || failure.code == .other { remedy = DiskStore.damagedRemedy }
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
