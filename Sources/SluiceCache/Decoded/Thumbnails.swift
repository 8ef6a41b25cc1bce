import GRDB
import HTTPTypes
import SluiceDatabase
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Scaled copies of images, on disk beside their originals. A copy is an entry of the index like a response, so it is counted, verified and
// evicted like one. Its key is that of the original with a fragment, which no URL's key has:
//
//      https://example.com/photo.jpg                 row 17
//      https://example.com/photo.jpg#thumbnail-240   row 23, whose field says that it was made from row 17
//
// A copy must neither outlive nor contradict its original:
//
// - It becomes ready in a transaction that finds the original ready, and leaves in the transaction in which its original leaves, whatever
//   the reason (``DiskIndex/markLeaving(_:writer:in:)``). So at each moment, also after a crash and for other processes, a ready copy has a
//   ready original.
// - It is read in one transaction together with its original, and used only if its field names that row. A program from before there were
//   copies, which may share the directory, doesn't remove them with their originals. The number of a row is never used again.
//
// Using a copy also counts as using the original. It would be evicted otherwise, and the copy with it.

/// How values are stored as copies.
struct ValueCopies<Value: Sendable>: Sendable {
    /// Whether a copy is so much smaller than the bytes of the original that it should be stored.
    var areWorthStoring: @Sendable (Value, Data) -> Bool
    /// Returns the bytes of a copy. Called off the caller's actor, because it takes a millisecond.
    var encode: @Sendable (Value) async -> Data?
}

extension ResourceKey {
    private static let thumbnail = "#thumbnail-"

    func thumbnail(ofSize size: Int) -> ResourceKey { ResourceKey(text: "\(text)\(Self.thumbnail)\(size)") }

    var isThumbnail: Bool { text.utf8.contains(UInt8(ascii: "#")) }

    /// The first key that belongs to the thumbnails of this key, and the first one after them.
    var thumbnails: Range<String> { "\(text)#"..<"\(text)$" }
}

extension HTTPField.Name {
    /// The row of a copy's original.
    fileprivate static let original = HTTPField.Name("Sluice-Original")!
}

/// A stored copy, with the original's head and row.
struct FoundCopy: Sendable {
    var original: Answer.Stored
    var data: Data
}

extension ResourceCache {
    /// Returns the copy in this size if its original is on disk, is the only response for the URL, and is accepted by `isUsable`. Disk errors
    /// count as disk failures. Throws only `CancellationError`.
    func copy(
        of key: ResourceKey, size: Int, where isUsable: @Sendable (Answer.Stored) -> Bool
    ) async throws -> FoundCopy? {
        guard !isOutOfDate(key) else { return nil }
        do {
            let disk = try await disk
            let copyKey = key.thumbnail(ofSize: size)
            guard let (original, copy) = try await disk.findCopy(copyKey, of: key, policy),
                copy.head.fields.value(of: .original) == "\(original.id)", original.head.isUsableAsData,
                original.head.variant.matches([:], policy: policy),
                isUsable(Answer.Stored(head: original.head, row: original.id))
            else { return nil }
            switch try await disk.body(of: copy, copyKey) {
            case .found(let data):
                disk.uses.note(original.id)
                return FoundCopy(original: Answer.Stored(head: original.head, row: original.id), data: data)
            case .damaged: try await drop(copy.id, copyKey)
            case .missing: break
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            noteDiskFailure(error)
        }
        return nil
    }

    /// Stores a copy of the original in a row, unless the original has left.
    func storeCopy(_ data: Data, size: Int, of original: Int64, _ key: ResourceKey) async {
        // It is fresh as long as it is there.
        let fields: HTTPFields = [.cacheControl: "max-age=\(Int32.max)", .original: "\(original)"]
        let head = StoredResponse.Head(
            status: 200, fields: fields, length: Int64(data.count), requested: now(), received: now(), policy: policy)
        do {
            let evicted = try await disk.storeCopy(
                StoredResponse(head: head, body: data), for: key.thumbnail(ofSize: size), of: original)
            count { $0.evicted += evicted }
        } catch {
            noteDiskFailure(error)
        }
    }
}

extension DiskStore {
    fileprivate func findCopy(
        _ copy: ResourceKey, of key: ResourceKey, _ policy: CachePolicy
    ) async throws -> (original: DiskIndex.Ready, copy: DiskIndex.Ready)? {
        try await database.grouped(mayWrite: false) { database in
            let copies = try DiskIndex.find(copy, policy, in: database)
            guard let copy = copies.ready.first else { return nil }
            let originals = try DiskIndex.find(key, policy, in: database)
            guard originals.ready.count == 1, originals.garbage.isEmpty else { return nil }
            return (originals.ready[0], copy)
        }
    }

    /// Stores a copy in a file, however small it is, and returns the number of evicted entries. Storing a small response in the index takes
    /// one transaction, which may evict the original after it has been checked.
    fileprivate func storeCopy(_ copy: StoredResponse, for key: ResourceKey, of original: Int64) async throws -> Int {
        guard copy.body.count <= entryLimit, let size = DiskIndex.size(of: copy, key: key), size <= limit else {
            return 0
        }
        let digest = await sha256(copy.body)
        return try await change(storing: copy.body.count) { [self] in
            try await storeInFile(copy, size, digest, key, .all) { try DiskIndex.hasFile(original, in: $0) }.evicted
        }
    }
}

extension DiskIndex {
    /// Whether a row is ready and its body is in a file. Small originals have no copies.
    static func hasFile(_ id: Int64, in database: Database) throws -> Bool {
        let sql = "SELECT state = 0 AND body IS NULL FROM entry WHERE id = ?"
        return try Bool.fetchOne(database.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// Returns ready rows, and the copies that leave with them.
    static func withCopies(_ entries: [Entry], in database: Database) throws -> [Entry] {
        var all = entries
        var ids = Set(entries.map(\.id))
        let sql = "SELECT \(Entry.columns) FROM entry WHERE state = 0 AND key >= ? AND key < ?"
        for entry in entries where !entry.isInIndex && !entry.key.isThumbnail {
            let range = entry.key.thumbnails
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: sql), arguments: [range.lowerBound, range.upperBound])
            all += rows.map { Entry($0) }.filter { ids.insert($0.id).inserted }
        }
        return all
    }
}
