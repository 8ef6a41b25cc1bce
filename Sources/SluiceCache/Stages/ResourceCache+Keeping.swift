import SluiceHTTP

// Stage 5: keep what came, on disk and then in memory.
extension ResourceCache {
    /// Keeps a response if that is allowed and of use, in place of what was kept before.
    ///
    /// Never fails: the caller has its bytes. In memory it comes last, so that its row is known; and it is in memory also
    /// where the disk failed.
    func keep(
        _ fetched: FetchedResponse, for key: ResourceKey, inPlaceOf old: StoredResponse?
    ) async -> StoredResponse {
        var response = StoredResponse(head: fetched.head, body: fetched.body)
        do {
            guard mayKeep(fetched) else {
                memory.remove(key)
                if old != nil { try await disk.remove(key) }
                return response
            }
            if fetched.isConfirmation, let row = old?.row, try await disk.update(row, response.head) {
                response.row = row
            } else {
                let kept = try await disk.store(response, for: key)
                count { $0.evicted += kept.evicted }
                response.row = kept.row
            }
        } catch {
            noteDiskFailure(error)
        }
        if mayKeep(fetched) { keepInMemory(response, for: key) }
        return response
    }

    /// How long a redirect itself holds is not known here, so under HTTP's rules what it led to is not kept.
    private func mayKeep(_ fetched: FetchedResponse) -> Bool {
        fetched.head.isWorthStoring(configuration.policy)
            && (!fetched.wasRedirected || configuration.policy == .immutable)
    }
}
