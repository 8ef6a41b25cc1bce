import SluiceDatabase
import SluiceHTTP

// Stage 3: disk.
extension ResourceCache {
    /// Returns the undamaged response on disk, fresh or stale, or `nil` if there is none. Stores a fresh response in memory, if that is wanted. Throws only
    /// `CancellationError`; other errors count as disk failures.
    func lookUpOnDisk(
        _ key: ResourceKey, for request: TransportRequest, keepsInMemory: Bool
    ) async throws -> StoredResponse? {
        do {
            let found = try await disk.find(key, policy)
            for row in found.garbage { try await drop(row, key) }
            let rows = found.ready.filter(\.head.isUsableAsData)
            guard let (index, _) = policy.selection(of: rows.map(\.head), for: request, at: now()) else { return nil }
            let row = rows[index]
            switch try await disk.body(of: row, key) {
            case .found(let body):
                let response = StoredResponse(head: row.head, body: body, row: row.id)
                guard policy.isFresh(response.head, at: now()) else { return response }
                count { $0.diskHits += 1 }
                if keepsInMemory { keepInMemory(response, for: key) }
                return response
            case .damaged: try await drop(row.id, key)
            case .missing: break
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            noteDiskFailure(error)
        }
        return nil
    }

    /// Removes a damaged response, and counts it.
    func drop(_ row: Int64, _ key: ResourceKey) async throws {
        count { $0.damaged += 1 }
        try await disk.drop(row, key)
    }

    func noteDiskFailure(_ error: any Error) {
        let text = "\(error)"
        count {
            $0.diskFailures += 1
            $0.lastDiskFailure = text
        }
    }
}
