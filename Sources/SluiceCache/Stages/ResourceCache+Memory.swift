// The memory stage.
extension ResourceCache {
    /// A hit in memory counts as a use of the entry on disk. The next transaction writes it to the index.
    func noteMemoryHit(_ response: StoredResponse) {
        count { $0.memoryHits += 1 }
        if let row = response.row { disk.uses.note(row) }
    }

    /// Stores a whole response beside those of other variants of its URL.
    func keepInMemory(_ response: StoredResponse, for key: ResourceKey) {
        guard response.head.part == nil else { return }
        var kept = memory.value(for: key) ?? ResponsesInMemory()
        kept.insert(response)
        // The estimate limits the number of responses without a body.
        let cost = kept.responses.reduce(0) { $0 + $1.body.count + Self.memoryOverhead }
        if !memory.insert(kept, for: key, cost: cost), kept.responses.count > 1 {
            memory.insert(ResponsesInMemory(response), for: key, cost: response.body.count + Self.memoryOverhead)
        }
    }

    static let memoryOverhead = 512
}

/// The responses of one URL in memory: one for each variant.
struct ResponsesInMemory: Sendable {
    private(set) var responses: [StoredResponse] = []

    init() {}

    init(_ response: StoredResponse) { responses = [response] }

    mutating func insert(_ response: StoredResponse) {
        responses.removeAll { $0.head.variant == response.head.variant }
        if responses.count >= CachePolicy.maximumVariants { responses.removeFirst() }
        responses.append(response)
    }
}
