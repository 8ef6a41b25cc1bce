import HTTPTypes
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// The memory stage.
extension ResourceCache {
    /// A hit in memory counts as a use of the entry on disk. The next transaction writes it to the index.
    func noteMemoryHit(_ response: StoredResponse) {
        count { $0.memoryHits += 1 }
        if let row = response.row { disk.uses.note(row) }
    }

    /// Stores a whole response that a visit has found beside those of other variants of its URL.
    ///
    /// - Parameter total: The number of stored responses of the URL, with this one.
    func keepInMemory(_ response: StoredResponse, _ visit: Visit, of total: Int) {
        guard response.head.part == nil else { return }
        memory.keep(visit) { kept in
            var alone = ResponsesInMemory()
            alone.insert(response, of: total)
            var candidates = [alone]
            if var kept {
                kept.insert(response, of: total)
                candidates.insert(kept, at: 0)
            }
            return candidates.map { ($0, $0.cost(for: visit.key)) }
        }
    }

    /// Ends a change, after which the memory has this response and no other.
    func end(_ change: ResourceMemory<ResponsesInMemory>.Change, keeping response: StoredResponse?, of total: Int) {
        guard let response, response.head.part == nil else { return memory.endChange(change) }
        var alone = ResponsesInMemory()
        alone.insert(response, of: total)
        memory.endChange(change, keeping: [(alone, alone.cost(for: change.key))])
    }

    /// Removes the stored responses of a resource, and the values that were decoded from them. Exchanges that are running aren't stored, and
    /// no later request joins them.
    func invalidate(_ key: ResourceKey) async throws {
        forget(key)
        // What began after the first call may have read the rows.
        defer { forget(key) }
        do {
            try await disk.remove(key)
            noteRemoval(of: key, hasFailed: false)
        } catch {
            noteRemoval(of: key, hasFailed: true)
            throw error
        }
    }

    /// Notes whether the index still has rows that are out of date.
    func noteRemoval(of key: ResourceKey, hasFailed: Bool) {
        unremoved.withLock { keys in
            // More failures are improbable: each one is a failed transaction.
            if !hasFailed { keys.remove(key) } else if keys.count < 10_000 { keys.insert(key) }
        }
    }

    /// Whether the rows of a key must not be used, although they are in the index.
    func isOutOfDate(_ key: ResourceKey) -> Bool { unremoved.withLock { !$0.isEmpty && $0.contains(key) } }

    /// Removes the rows that are out of date and couldn't be removed before. What the process has in memory is newer, and stays.
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

    /// The bytes that a value counts at least, for its key, its fields and its place. Without them, the number of empty bodies would be
    /// unlimited.
    static let memoryOverhead = 512
}

extension StoredResponse.Head {
    /// The bytes that the head takes in memory, whose number a server chooses.
    var memoryCost: Int {
        // A field takes more than its texts.
        fields.reduce(variant.memoryCost) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
    }
}

/// The responses of one URL in memory: at most one for each variant.
struct ResponsesInMemory: Sendable {
    private(set) var responses: [StoredResponse] = []
    /// The number of stored responses of the URL.
    private var total = 0

    /// Whether no other response is stored, one of which might precede these.
    var areAll: Bool { responses.count >= total }

    /// The lengths of the bodies, and of the key and the heads, or an estimate if they are short.
    func cost(for key: ResourceKey) -> Int {
        let heads = responses.reduce(key.text.utf8.count) { $0 + $1.head.memoryCost }
        return responses.reduce(max(ResourceCache.memoryOverhead * responses.count, heads)) { $0 + $1.body.count }
    }

    mutating func insert(_ response: StoredResponse, of total: Int) {
        responses.removeAll { $0.head.variant == response.head.variant }
        if responses.count >= CachePolicy.maximumVariants { responses.removeFirst() }
        responses.append(response)
        self.total = total
    }
}
