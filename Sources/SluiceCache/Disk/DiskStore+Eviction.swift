import GRDB
import SluiceDatabase

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// How the folder stays below its limit: room is made before a file is written.
//
// Every row counts until its file is gone: those that are being written with all their bytes, those that are leaving still.
// The sum over the rows is never above the limit, and the files never take more than their rows say.
extension DiskStore {
    /// Makes room and a row `writing` for a response. No row if there is no room to be made.
    func reserve(
        _ response: StoredResponse, _ digest: Data, _ key: ResourceKey
    ) async throws -> (row: Int64?, evicted: Int) {
        let writer = slot.number
        let size = response.body.count + DiskIndex.overhead
        let pending = uses.take()
        let time = uses.next()

        let first: (row: Int64?, victims: [DiskIndex.Entry]) = try await database.write { [limit] database in
            try DiskIndex.touch(pending, in: database)
            let (victims, areEnough) = try DiskIndex.leastRecentlyUsed(downTo: limit - size, in: database)
            guard areEnough else { return (nil, []) }
            if victims.isEmpty {
                return (
                    try DiskIndex.insertWriting(
                        response, digest: digest, key: key, writer: writer, now: time, in: database), []
                )
            }
            try DiskIndex.markLeaving(victims.map(\.id), writer: writer, in: database)
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
        // In one transaction, so that nobody else takes the room that was made.
        let row: Int64? = try await database.write { [limit, gone] database in
            try DiskIndex.delete(gone, in: database)
            guard try DiskIndex.usedBytes(in: database) + size <= limit else { return nil }
            return try DiskIndex.insertWriting(
                response, digest: digest, key: key, writer: writer, now: time, in: database)
        }
        if row == nil, let failure { throw failure }
        return (row, gone.count)
    }

    /// Removes entries until no more than `bytes` are used, those first that were not used for longest; returns how many.
    func trim(toBytes bytes: Int) async throws -> Int {
        let pending = uses.take()
        return try await change { [self] in
            try await database.write { try DiskIndex.touch(pending, in: $0) }
            var removed = 0
            while true {
                let victims = try await database.write { [slot] database in
                    let victims = try DiskIndex.leastRecentlyUsed(downTo: bytes, most: 256, in: database).entries
                    try DiskIndex.markLeaving(victims.map(\.id), writer: slot.number, in: database)
                    return victims
                }
                if victims.isEmpty { return removed }
                try await finishLeaving(victims)
                removed += victims.count
            }
        }
    }

    // MARK: What dead processes left

    /// Removes what writers that no longer live have left half done. Their files are named by their rows.
    func sweep() async throws {
        try await sweep(slot.number)
        for writer in try await database.read({ try DiskIndex.writersOfUnsettled(in: $0) }) where writer != slot.number
        {
            guard let dead = try await WriterSlot.take(writer, in: folder, using: files) else { continue }
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
        // A file that cannot be removed keeps its row, and is tried again at the next start.
        try? await finishLeaving(entries)
    }
}
