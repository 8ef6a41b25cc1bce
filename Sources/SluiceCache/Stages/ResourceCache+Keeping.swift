import HTTPTypes
import SluiceHTTP

// Stage 5: store the response, on disk and then in memory.
extension ResourceCache {
    /// Stores a response in place of the old one, if that is allowed and the response can be used later.
    ///
    /// The method doesn't throw, because the caller has its bytes. It stores the response in memory after the disk, so that the response's
    /// row is known, even if the disk has failed.
    func keep(
        _ fetched: FetchedResponse, for key: ResourceKey, inPlaceOf old: StoredResponse?, keepsInMemory: Bool
    ) async -> StoredResponse {
        var response = StoredResponse(head: fetched.head, body: fetched.body)
        do {
            guard mayKeep(fetched) else {
                memory.remove(key)
                if let row = old?.row { try await disk.remove(key, .rows([row])) }
                return response
            }
            if fetched.isConfirmation, let row = old?.row, try await disk.update(row, key, response.head) {
                response.row = row
            } else {
                let kept = try await disk.store(response, for: key)
                count { $0.evicted += kept.evicted }
                response.row = kept.row
            }
        } catch {
            noteDiskFailure(error)
        }
        if mayKeep(fetched), keepsInMemory {
            keepInMemory(response, for: key)
        } else {
            // An older version.
            memory.remove(key)
        }
        return response
    }

    /// Returns whether the response may be stored. Under HTTP's rules, a response behind a redirect isn't stored, because the cache doesn't
    /// know how long the redirect is valid. Neither is one that varies by `User-Agent`: the transport sets that field, and two processes
    /// may use the directory with different ones.
    private func mayKeep(_ fetched: FetchedResponse) -> Bool {
        fetched.mayBeStored && (!fetched.wasRedirected || configuration.policy == .immutable)
            && !(fetched.head.fields[.vary]?.lowercased().contains("user-agent") ?? false)
    }
}
