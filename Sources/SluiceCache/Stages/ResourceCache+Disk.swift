import SluiceDatabase
import SluiceHTTP

// Stage 3: disk.
extension ResourceCache {
    /// Returns the undamaged response on disk, fresh or stale, or `nil` if there is none. Stores a fresh response in memory, if that is wanted. Throws only
    /// `CancellationError`; other errors count as disk failures.
    func lookUpOnDisk(_ key: ResourceKey, keepsInMemory: Bool) async throws -> StoredResponse? {
        do {
            switch try await disk.lookUp(key, policy) {
            case .found(let response):
                guard policy.isFresh(response.head, at: now()) else { return response }
                count { $0.diskHits += 1 }
                if keepsInMemory { keepInMemory(response, for: key) }
                return response
            case .damaged(let row):
                count { $0.damaged += 1 }
                try await disk.drop(row, key)
            case .missing: break
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            noteDiskFailure(error)
        }
        return nil
    }

    func noteDiskFailure(_ error: any Error) {
        let text = "\(error)"
        count {
            $0.diskFailures += 1
            $0.lastDiskFailure = text
        }
    }
}
