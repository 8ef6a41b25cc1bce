/// Which blocks refer to which footnotes first: that is the order of the footnotes.
struct FootnoteNumbering: Sendable {
    /// The folded labels of the footnotes that have a number.
    private(set) var order: [[UInt8]] = []
    /// Blocks that may refer to footnotes, and how many of these had a number before each that was looked at.
    private var blocks: [Int] = []
    private var before: [Int] = []
    /// The first block that may refer to a label.
    private var candidates: [[UInt8]: Int] = [:]

    /// The block to look at next.
    var next: Int? { before.count < blocks.count ? blocks[before.count] : nil }

    /// Adds a block behind all others.
    mutating func add(_ block: Int, labels: Set<[UInt8]>) {
        blocks.append(block)
        for label in labels where candidates[label] == nil { candidates[label] = block }
    }

    /// The next block was looked at, and is the first to refer to these.
    mutating func advance(_ labels: [[UInt8]]) {
        before.append(order.count)
        order += labels
    }

    func firstCandidate(of label: [UInt8]) -> Int? { candidates[label] }

    /// The blocks from some number on that were looked at.
    func seen(from block: Int) -> ArraySlice<Int> {
        blocks[min(position(of: block), before.count)..<before.count]
    }

    /// All numbers that blocks from there on gave are free again; gives the labels that had them.
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
