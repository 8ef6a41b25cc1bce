/// The regions of a document in order, with the position of each.
///
/// Regions are stored in chunks, and positions are relative to the chunk. Replacing a few regions copies one or two chunks and the list of
/// chunks; all other chunks are shared with the previous list.
struct RegionList: Collection, Sendable {
    private static let largestChunk = 256

    /// The total size of the regions before a position.
    struct Extent: Sendable {
        var bytes = 0
        var utf16 = 0
        /// The number of nodes, not counting the root of each region.
        var nodes = 0

        static func + (left: Self, right: Self) -> Self {
            Self(bytes: left.bytes + right.bytes, utf16: left.utf16 + right.utf16, nodes: left.nodes + right.nodes)
        }
    }

    /// The position of a region. Indices are ordered like the regions.
    struct Index: Sendable, Hashable, Comparable {
        var chunk: Int32
        var slot: Int32

        static func < (left: Self, right: Self) -> Bool { (left.chunk, left.slot) < (right.chunk, right.slot) }
    }

    private struct Entry: Sendable {
        var region: DocumentRegion
        var start: Extent
    }

    private final class Chunk: Sendable {
        let entries: [Entry]
        let extent: Extent

        init(_ regions: ArraySlice<DocumentRegion>) {
            var entries: [Entry] = []
            entries.reserveCapacity(regions.count)
            var extent = Extent()
            for region in regions {
                entries.append(Entry(region: region, start: extent))
                extent = extent + region.extent
            }
            self.entries = entries
            self.extent = extent
        }
    }

    private struct Part: Sendable {
        var chunk: Chunk
        var start: Extent
        /// The number of regions before the chunk.
        var first: Int
    }

    private var parts: [Part] = []
    private(set) var extent = Extent()
    private(set) var count = 0

    init(_ regions: [DocumentRegion]) {
        append(regions[...])
    }

    private init() {}

    // MARK: Access

    var startIndex: Index { Index(chunk: 0, slot: 0) }
    var endIndex: Index { Index(chunk: Int32(parts.count), slot: 0) }

    subscript(index: Index) -> DocumentRegion {
        parts[Int(index.chunk)].chunk.entries[Int(index.slot)].region
    }

    /// Returns the total size of the regions before an index. O(1).
    func extent(before index: Index) -> Extent {
        guard index < endIndex else { return extent }
        let part = parts[Int(index.chunk)]
        return part.start + part.chunk.entries[Int(index.slot)].start
    }

    func index(after index: Index) -> Index {
        Int(index.slot) + 1 < parts[Int(index.chunk)].chunk.entries.count
            ? Index(chunk: index.chunk, slot: index.slot + 1) : Index(chunk: index.chunk + 1, slot: 0)
    }

    /// Returns the previous index, or `nil` for the first region.
    func index(before index: Index) -> Index? {
        if index.slot > 0 { return Index(chunk: index.chunk, slot: index.slot - 1) }
        guard index.chunk > 0 else { return nil }
        return Index(chunk: index.chunk - 1, slot: Int32(parts[Int(index.chunk) - 1].chunk.entries.count - 1))
    }

    /// Returns the number of regions before an index. O(1).
    func offset(of index: Index) -> Int {
        index < endIndex ? parts[Int(index.chunk)].first + Int(index.slot) : count
    }

    /// O(log n), like the following searches.
    func index(atOffset offset: Int) -> Index {
        guard offset < count else { return endIndex }
        let chunk = Self.last(of: parts.count) { parts[$0].first <= offset }
        return Index(chunk: Int32(chunk), slot: Int32(offset - parts[chunk].first))
    }

    /// Returns the last region that begins at or before a position in the source. The list must not be empty.
    func index(ofByte position: Int) -> Index {
        lastIndex { $0.bytes <= position }
    }

    /// Returns the last region that begins at or before a position in UTF-16 code units. The list must not be empty.
    func index(ofUTF16 position: Int) -> Index {
        lastIndex { $0.utf16 <= position }
    }

    private func lastIndex(where isBefore: (Extent) -> Bool) -> Index {
        let chunk = Self.last(of: parts.count) { isBefore(parts[$0].start) }
        let part = parts[chunk]
        let slot = Self.last(of: part.chunk.entries.count) { isBefore(part.start + part.chunk.entries[$0].start) }
        return Index(chunk: Int32(chunk), slot: Int32(slot))
    }

    /// Returns the last index that satisfies a condition. All indices before it, including the first one, must satisfy it too.
    private static func last(of count: Int, where condition: (Int) -> Bool) -> Int {
        Swift.max(0, partitionPoint(of: count, where: condition) - 1)
    }

    // MARK: Replacing

    /// Returns a list in which `regions` replace the regions from `first` up to `last`. O(number of chunks + number of new regions).
    func replacing(from first: Index, to last: Index, with regions: [DocumentRegion]) -> Self {
        var result = Self()
        result.parts.reserveCapacity(parts.count + 1)
        // Small neighbors join the new chunks, so that the number of chunks stays proportional to the number of regions.
        var from = Int(first.chunk)
        var middle = from < parts.count ? parts[from].chunk.entries[..<Int(first.slot)].map(\.region) : []
        if from > 0, parts[from - 1].chunk.entries.count + middle.count <= Self.largestChunk / 4 {
            from -= 1
            middle.insert(contentsOf: parts[from].chunk.entries.lazy.map(\.region), at: 0)
        }
        middle += regions
        var to = Int(last.chunk)
        if to < parts.count {
            middle += parts[to].chunk.entries[Int(last.slot)...].lazy.map(\.region)
            to += 1
        }
        if to < parts.count, middle.count < Self.largestChunk / 4 {
            middle += parts[to].chunk.entries.lazy.map(\.region)
            to += 1
        }
        for part in parts[..<from] { result.append(part.chunk) }
        result.append(middle[...])
        for part in parts[to...] { result.append(part.chunk) }
        return result
    }

    private mutating func append(_ regions: ArraySlice<DocumentRegion>) {
        var rest = regions
        while !rest.isEmpty {
            // Splits a chunk that has become too large into parts that leave room for the next edits.
            let size =
                rest.count <= Self.largestChunk
                ? rest.count : Swift.min(Self.largestChunk * 3 / 4, (rest.count + 1) / 2)
            append(Chunk(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
    }

    private mutating func append(_ chunk: Chunk) {
        parts.append(Part(chunk: chunk, start: extent, first: count))
        extent = extent + chunk.extent
        count += chunk.entries.count
    }

    // MARK: Comparing

    /// Returns the number of regions that both lists share at the beginning, and the number that they share at the end. O(number of chunks)
    /// if the lists differ in only a few regions.
    func shared(with other: Self) -> (prefix: Int, suffix: Int) {
        var prefix = 0
        var (left, right) = (startIndex, other.startIndex)
        while left < endIndex, right < other.endIndex {
            let (chunk, otherChunk) = (parts[Int(left.chunk)].chunk, other.parts[Int(right.chunk)].chunk)
            if left.slot == 0, right.slot == 0, chunk === otherChunk {
                prefix += chunk.entries.count
                left = Index(chunk: left.chunk + 1, slot: 0)
                right = Index(chunk: right.chunk + 1, slot: 0)
            } else {
                guard self[left] === other[right] else { break }
                prefix += 1
                (left, right) = (index(after: left), other.index(after: right))
            }
        }
        var suffix = 0
        let limit = Swift.min(count, other.count) - prefix
        (left, right) = (endIndex, other.endIndex)
        while suffix < limit {
            if left.slot == 0, right.slot == 0 {
                let (chunk, otherChunk) = (parts[Int(left.chunk) - 1].chunk, other.parts[Int(right.chunk) - 1].chunk)
                if chunk === otherChunk, suffix + chunk.entries.count <= limit {
                    suffix += chunk.entries.count
                    left.chunk -= 1
                    right.chunk -= 1
                    continue
                }
            }
            guard let before = index(before: left), let otherBefore = other.index(before: right),
                self[before] === other[otherBefore]
            else { break }
            suffix += 1
            (left, right) = (before, otherBefore)
        }
        return (prefix, suffix)
    }
}

extension DocumentRegion {
    fileprivate var extent: RegionList.Extent {
        .init(bytes: length, utf16: utf16.count, nodes: nodeCount - 1)
    }
}
