/// The order of the footnotes: which blocks are the first to refer to which labels.
struct FootnoteNumbering: Sendable {
    /// Folded labels.
    private(set) var order: [[UInt8]] = []
    /// The blocks that may refer to footnotes. For each parsed one, `before` has the number of numbered footnotes before it.
    private var blocks: [Int] = []
    private var before: [Int] = []
    private var candidates: [[UInt8]: Int] = [:]

    var next: Int? { before.count < blocks.count ? blocks[before.count] : nil }

    mutating func add(_ block: Int, labels: Set<[UInt8]>) {
        blocks.append(block)
        for label in labels where candidates[label] == nil { candidates[label] = block }
    }

    mutating func advance(_ labels: [[UInt8]]) {
        before.append(order.count)
        order += labels
    }

    func firstCandidate(of label: [UInt8]) -> Int? { candidates[label] }

    func seen(from block: Int) -> ArraySlice<Int> {
        blocks[min(position(of: block), before.count)..<before.count]
    }

    /// Removes the numbers given by the blocks from `block` on, and returns the labels that had them.
    mutating func forget(from block: Int) -> ArraySlice<[UInt8]> {
        let position = position(of: block)
        guard position < before.count else { return [] }
        let freed = order[before[position]...]
        order.removeSubrange(before[position]...)
        before.removeSubrange(position...)
        return freed
    }

    private func position(of block: Int) -> Int {
        var low = 0
        var high = blocks.count
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle] < block { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
