import GRDB
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The directory stays below its limit because the store evicts entries before it writes a file.
//
// Every row counts until its file is removed. A row in the state `writing` counts with all bytes of its file, and a row in the state
// `leaving` still counts. The sum over all rows never exceeds the limit, and a file never takes more bytes than its row counts.
extension DiskStore {
    /// Evicts entries if necessary, and calls `insert` in the transaction that has found enough room for `size` more bytes. Returns `nil` if
    /// there isn't enough room, and the number of evicted entries.
    ///
    /// - Parameter isArriving: Whether the bytes are for a body that arrives. Such bodies reserve at most half of the directory, so that they
    ///   don't evict everything.
    func makeRoom<R: Sendable>(
        for size: Int64, _ key: ResourceKey, isArriving: Bool = false,
        _ insert: @escaping @Sendable (Database) throws -> R
    ) async throws -> (inserted: R?, evicted: Int) {
        guard size <= limit else { return (nil, 0) }
        let pending = uses.take()
        let first: (inserted: R?, evicted: Int, leaving: [DiskIndex.Entry]) = try await write(changing: key) {
            [limit, verified, slot] database in
            try DiskIndex.touch(pending, in: database)
            let (victims, areEnough) = try DiskIndex.leastRecentlyUsed(downTo: limit - size, in: database)
            let mayReserve = try !isArriving || DiskIndex.writingBytes(in: database) <= limit / 2 - size
            guard areEnough, mayReserve else { return (nil, 0, []) }
            for victim in victims { verified.forget(victim.key) }
            let leaving = try DiskIndex.markLeaving(victims, writer: slot.number, in: database)
            let inserted = leaving.isEmpty ? try insert(database) : nil
            return (inserted, victims.count - leaving.count, leaving)
        }
        guard !first.leaving.isEmpty else { return (first.inserted, first.evicted) }

        var gone: [Int64] = []
        var failure: (any Error)?
        for victim in first.leaving {
            do {
                try await removeFile(of: victim.id, victim.key)
                gone.append(victim.id)
            } catch {
                failure = failure ?? error
            }
        }
        // One transaction, so that no other writer takes the freed room.
        let inserted: R? = try await write(changing: key) { [limit, gone] database in
            try DiskIndex.delete(gone, in: database)
            guard try DiskIndex.usedBytes(in: database) <= limit - size else { return nil }
            return try insert(database)
        }
        if inserted == nil, let failure { throw failure }
        return (inserted, first.evicted + gone.count)
    }

    func trim(toBytes bytes: Int64) async throws -> Int {
        let pending = uses.take()
        return try await change { [self] in
            try await database.write { try DiskIndex.touch(pending, in: $0) }
            var removed = 0
            while true {
                let (count, leaving) = try await database.write { [slot, verified] database in
                    let victims = try DiskIndex.leastRecentlyUsed(downTo: bytes, most: 256, in: database).entries
                    for victim in victims { verified.forget(victim.key) }
                    return (victims.count, try DiskIndex.markLeaving(victims, writer: slot.number, in: database))
                }
                if count == 0 { return removed }
                try await finishLeaving(leaving)
                removed += count
            }
        }
    }

    // MARK: Leftovers of dead processes

    /// Removes the rows and files that dead writers were changing.
    func sweep() async throws {
        try await sweep(slot.number)
        for writer in try await database.read({ try DiskIndex.writersOfUnsettled(in: $0) }) where writer != slot.number
        {
            guard let dead = try await WriterSlot.take(writer, in: directory, using: files) else { continue }
            let result: Result<Void, any Error>
            do {
                result = .success(try await sweep(writer))
            } catch {
                result = .failure(error)
            }
            try await dead.release()
            try result.get()
        }
    }

    private func sweep(_ writer: Int) async throws {
        let entries = try await database.read { try DiskIndex.unsettled(of: writer, in: $0) }
        // A file that can't be removed keeps its row. The next start tries again.
        try? await finishLeaving(entries)
    }
}
