import SluiceLock

// Invalidation concerns all stages of the cache: the stored responses on disk, the responses in memory, and the decoded values. An
// invalidation also ends the right of running visits to store what they find (see `ResourceMemory`).

extension ResourceCache {
    /// Removes the stored responses of a resource, and the values that were decoded from them. The responses of running exchanges aren't
    /// stored, and later requests don't join them.
    ///
    /// This includes the responses for other URLs that answer requests for this one, too.
    func invalidate(_ key: ResourceKey) async throws {
        for other in try await equivalents(of: key) { try await invalidateAlone(other) }
        try await invalidateAlone(key)
    }

    private func invalidateAlone(_ key: ResourceKey) async throws {
        forget(key)
        // Lookups that began after the first call may have read the rows.
        defer { forget(key) }
        // A response that is being stored is refused, or stored before the removal.
        await backlog.wait(for: key)
        do {
            try await disk.remove(key)
            noteRemoval(of: key, hasFailed: false)
        } catch {
            noteRemoval(of: key, hasFailed: true)
            throw error
        }
    }

    /// Notes whether the index still has out-of-date rows.
    func noteRemoval(of key: ResourceKey, hasFailed: Bool) {
        unremoved.withLock { keys in
            // More failures are unlikely, because each is a failed transaction.
            if !hasFailed { keys.remove(key) } else if keys.count < 10_000 { keys.insert(key) }
        }
    }

    /// Whether the rows of a key must not be used even though they are in the index.
    func isOutOfDate(_ key: ResourceKey) -> Bool { unremoved.withLock { !$0.isEmpty && $0.contains(key) } }

    /// Removes out-of-date rows that couldn't be removed before. What the process has in memory is newer, and stays.
    func removeOutOfDateRows(_ key: ResourceKey) async throws {
        guard isOutOfDate(key) else { return }
        try await disk.remove(key)
        noteRemoval(of: key, hasFailed: false)
    }

    func forget(_ key: ResourceKey) {
        memory.invalidate(key)
        for cache in decodedCaches.all { cache.invalidate(key) }
    }

    func forgetAll() {
        memory.invalidateAll()
        for cache in decodedCaches.all { cache.invalidateAll() }
    }
}
