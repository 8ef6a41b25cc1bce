import GRDB
import SluiceDatabase
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Files of bodies that no row has. A kill leaves none; a lost index leaves all.
extension DiskStore {
    /// Removes the files of an earlier index if this one is new. The index alone finds no such file, so they would take space forever.
    func removeFilesOfLostIndex() async throws {
        guard try await database.read({ try DiskIndex.isNew(in: $0) }) else { return }
        try await forEachStrayFile { try await removeStray($0) }
    }

    /// Calls `body` for each file of a body, or temporary file, that no row has. Files with other names are ignored.
    func forEachStrayFile(_ body: (URL) async throws -> Void) async throws {
        for try await part in files.listing(of: directory) {
            guard part.name.utf8.count == 2, let place = part.url, part.kind ?? .directory == .directory else {
                continue
            }
            do {
                for try await entry in files.listing(of: place) {
                    guard let row = Self.row(ofFileNamed: entry.name), let file = entry.url,
                        try await isStray(file, row)
                    else { continue }
                    try await body(file)
                }
            } catch let error as FileError where error.code == .notDirectory || error.code == .notFound {
                // Another program's file, or another process has removed the directory.
            }
        }
    }

    /// Returns whether no row has the file. A row exists before its file and as long as the file, so the row of a file that was listed can
    /// only be missing if the file has been removed since.
    private func isStray(_ file: URL, _ row: Int64) async throws -> Bool {
        let key = try await database.read { try DiskIndex.key(of: row, in: $0) }
        if let key {
            let own = self.file(row, key).lastPathComponent
            if file.lastPathComponent == own || file.lastPathComponent == ".\(own).part" { return false }
        }
        return try await files.exists(file, followingLinks: false)
    }

    func removeStray(_ file: URL) async throws {
        do {
            try await files.remove(file)
        } catch let error as FileError where error.code == .notFound {
            // Another process has removed it.
        } catch let error as FileError where error.code == .notEmpty {
            try await files.removeTree(file)
        }
    }

    /// Returns the number of the row that a file belongs to by its name, such as `3f9a…c1-17`, or that of its temporary file.
    private static func row(ofFileNamed name: String) -> Int64? {
        var name = name[...]
        if name.hasPrefix("."), name.hasSuffix(".part") { name = name.dropFirst().dropLast(5) }
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64,
            parts[0].utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }), let row = Int64(parts[1]), row > 0
        else { return nil }
        return row
    }
}

extension DiskIndex {
    /// Whether the index has never had a row.
    static func isNew(in database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'entry')") ?? false
    }
}
