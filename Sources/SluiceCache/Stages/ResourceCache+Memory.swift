import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Stage 1: memory.
extension ResourceCache {
    func lookUpInMemory(_ key: ResourceKey) -> StoredResponse? {
        guard let kept = memory.value(for: key), policy.isFresh(kept.head, at: now()) else { return nil }
        count { $0.memoryHits += 1 }
        // A hit in memory counts as a use of the entry on disk. The next transaction writes it to the index.
        if let row = kept.row { disk.uses.note(row) }
        return kept
    }

    func keepInMemory(_ response: StoredResponse, for key: ResourceKey) {
        memory.insert(response, for: key, cost: memoryCost(of: response))
    }

    /// The length of the body and of the header fields, whose length the server chooses, or an estimate if they are short. Without the
    /// estimate, the number of empty bodies would be unlimited.
    func memoryCost(of response: StoredResponse) -> Int {
        let fields = response.head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
        return response.body.count + max(Self.memoryOverhead, fields)
    }

    static let memoryOverhead = 512
}
