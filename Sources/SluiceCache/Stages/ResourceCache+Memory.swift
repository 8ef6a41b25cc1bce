#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Stage 1: memory.
extension ResourceCache {
    /// The bytes that are in memory, if they are fresh.
    func lookUpInMemory(_ key: ResourceKey) -> Data? {
        guard let kept = memory.value(for: key), kept.head.isFresh(at: now(), configuration.policy) else { return nil }
        count { $0.memoryHits += 1 }
        // What is used in memory is in use on disk, too; written down with the next transaction.
        if let row = kept.row { disk.uses.note(row) }
        return kept.body
    }

    func keepInMemory(_ response: StoredResponse, for key: ResourceKey) {
        memory.insert(response, for: key, cost: memoryCost(of: response))
    }

    /// The body, and what the rest takes, roughly: without it empty bodies would take no room at all.
    func memoryCost(of response: StoredResponse) -> Int { response.body.count + 512 }
}
