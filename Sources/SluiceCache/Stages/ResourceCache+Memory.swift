import HTTPTypes

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

    /// Stores a whole response beside those of other variants of its URL.
    ///
    /// - Parameter total: The number of stored responses of the URL, with this one.
    func keepInMemory(_ response: StoredResponse, for key: ResourceKey, of total: Int) {
        guard response.head.part == nil else { return }
        var kept = memory.value(for: key) ?? ResponsesInMemory()
        kept.insert(response, of: total)
        if !memory.insert(kept, for: key, cost: kept.cost), kept.responses.count > 1 {
            var alone = ResponsesInMemory()
            alone.insert(response, of: total)
            memory.insert(alone, for: key, cost: alone.cost)
        }
    }

    static let memoryOverhead = 512
}

/// The responses of one URL in memory: at most one for each variant.
struct ResponsesInMemory: Sendable {
    private(set) var responses: [StoredResponse] = []
    /// The number of stored responses of the URL.
    private var total = 0

    /// Whether no other response is stored, one of which might precede these.
    var areAll: Bool { responses.count >= total }

    /// The lengths of the bodies, and of the header fields, whose length the server chooses, or an estimate if they are short. Without the
    /// estimate, the number of empty bodies would be unlimited.
    var cost: Int {
        responses.reduce(0) { cost, response in
            let fields = response.head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
            return cost + response.body.count + max(ResourceCache.memoryOverhead, fields)
        }
    }

    mutating func insert(_ response: StoredResponse, of total: Int) {
        responses.removeAll { $0.head.variant == response.head.variant }
        if responses.count >= CachePolicy.maximumVariants { responses.removeFirst() }
        responses.append(response)
        self.total = total
    }
}
