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
    /// Evicts entries if necessary, and inserts a row in the state `writing` for a response. Returns no row if there isn't enough room.
    func reserve(
        _ response: StoredResponse, _ digest: Data, _ key: ResourceKey
    ) async throws -> (row: Int64?, evicted: Int) {
        let writer = slot.number
        let size = DiskIndex.size(of: response, key: key)
        let pending = uses.take()
        let time = uses.next()

        let first: (row: Int64?, victims: [DiskIndex.Entry]) = try await database.write { [limit, verified] database in
            try DiskIndex.touch(pending, in: database)
            let (victims, areEnough) = try DiskIndex.leastRecentlyUsed(downTo: limit - size, in: database)
            guard areEnough else { return (nil, []) }
            if victims.isEmpty {
                return (
                    try DiskIndex.insertWriting(
                        response.head, bytes: response.body.count, digest: digest, key: key, writer: writer, now: time,
                        in: database), []
                )
            }
            try DiskIndex.markLeaving(victims.map(\.id), writer: writer, in: database)
            for victim in victims { verified.forget(victim.key) }
            return (nil, victims)
        }
        guard !first.victims.isEmpty else { return (first.row, 0) }

        var gone: [Int64] = []
        var failure: (any Error)?
        for victim in first.victims {
            do {
                try await removeFiles(of: victim.id, victim.key)
                gone.append(victim.id)
            } catch {
                failure = failure ?? error
            }
        }
        // One transaction, so that no other writer takes the freed room.
        let row: Int64? = try await database.write { [limit, gone] database in
            try DiskIndex.delete(gone, in: database)
            guard try DiskIndex.usedBytes(in: database) + size <= limit else { return nil }
            return try DiskIndex.insertWriting(
                response.head, bytes: response.body.count, digest: digest, key: key, writer: writer, now: time,
                in: database)
        }
        if row == nil, let failure { throw failure }
        return (row, gone.count)
    }

    func trim(toBytes bytes: Int64) async throws -> Int {
        let pending = uses.take()
        return try await change { [self] in
            try await database.write { try DiskIndex.touch(pending, in: $0) }
            var removed = 0
            while true {
                let victims = try await database.write { [slot, verified] database in
                    let victims = try DiskIndex.leastRecentlyUsed(downTo: bytes, most: 256, in: database).entries
                    try DiskIndex.markLeaving(victims.map(\.id), writer: slot.number, in: database)
                    for victim in victims { verified.forget(victim.key) }
                    return victims
                }
                if victims.isEmpty { return removed }
                try await finishLeaving(victims)
                removed += victims.count
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
