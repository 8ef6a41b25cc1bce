/// The regions of a document in order, with the position of each.
///
/// Regions are stored in chunks, and positions are relative to the chunk. Replacing a few regions copies one or two chunks and the list of
/// chunks; all other chunks are shared with the previous list.
struct RegionList: Sendable {
    private static let largestChunk = 256

    /// What the regions before a position have together.
    struct Extent: Sendable {
        var bytes = 0
        var utf16 = 0
        /// The number of nodes without the roots of the regions.
        var nodes = 0

        static func + (left: Self, right: Self) -> Self {
            Self(bytes: left.bytes + right.bytes, utf16: left.utf16 + right.utf16, nodes: left.nodes + right.nodes)
        }
    }

    /// The place of a region. Comparing places compares the order of the regions.
    struct Place: Sendable, Hashable, Comparable {
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

    var start: Place { Place(chunk: 0, slot: 0) }
    var end: Place { Place(chunk: Int32(parts.count), slot: 0) }

    subscript(place: Place) -> DocumentRegion {
        parts[Int(place.chunk)].chunk.entries[Int(place.slot)].region
    }

    /// What the regions before a place have together. O(1).
    func extent(before place: Place) -> Extent {
        guard place < end else { return extent }
        let part = parts[Int(place.chunk)]
        return part.start + part.chunk.entries[Int(place.slot)].start
    }

    func place(after place: Place) -> Place {
        Int(place.slot) + 1 < parts[Int(place.chunk)].chunk.entries.count
            ? Place(chunk: place.chunk, slot: place.slot + 1) : Place(chunk: place.chunk + 1, slot: 0)
    }

    /// Returns `nil` before the first region.
    func place(before place: Place) -> Place? {
        if place.slot > 0 { return Place(chunk: place.chunk, slot: place.slot - 1) }
        guard place.chunk > 0 else { return nil }
        return Place(chunk: place.chunk - 1, slot: Int32(parts[Int(place.chunk) - 1].chunk.entries.count - 1))
    }

    /// The number of regions before a place. O(1).
    func index(of place: Place) -> Int {
        place < end ? parts[Int(place.chunk)].first + Int(place.slot) : count
    }

    /// O(log n), like the following searches.
    func place(at index: Int) -> Place {
        guard index < count else { return end }
        let chunk = Self.last(of: parts.count) { parts[$0].first <= index }
        return Place(chunk: Int32(chunk), slot: Int32(index - parts[chunk].first))
    }

    /// Returns the last region that begins at or before a position in the source. The list must not be empty.
    func place(ofByte position: Int) -> Place {
        last { $0.bytes <= position }
    }

    /// Returns the last region that begins at or before a position in UTF-16 code units. The list must not be empty.
    func place(ofUTF16 position: Int) -> Place {
        last { $0.utf16 <= position }
    }

    private func last(where isBefore: (Extent) -> Bool) -> Place {
        let chunk = Self.last(of: parts.count) { isBefore(parts[$0].start) }
        let part = parts[chunk]
        let slot = Self.last(of: part.chunk.entries.count) { isBefore(part.start + part.chunk.entries[$0].start) }
        return Place(chunk: Int32(chunk), slot: Int32(slot))
    }

    /// The last index that satisfies a condition, which the first index and no index after another one without it do.
    private static func last(of count: Int, where condition: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if condition(middle) { low = middle + 1 } else { high = middle }
        }
        return Swift.max(0, low - 1)
    }

    // MARK: Replacing

    /// Returns a list with other regions from one place to another. O(number of chunks + number of new regions).
    func replacing(from first: Place, to last: Place, with regions: [DocumentRegion]) -> Self {
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
            // A chunk that has become too large is halved, so that the next edits have room.
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

    /// Returns the number of regions at the beginning, and at the end, that both lists share. O(number of chunks) if they differ in a few
    /// regions.
    func shared(with other: Self) -> (prefix: Int, suffix: Int) {
        var prefix = 0
        var (left, right) = (start, other.start)
        while left < end, right < other.end {
            let (chunk, otherChunk) = (parts[Int(left.chunk)].chunk, other.parts[Int(right.chunk)].chunk)
            if left.slot == 0, right.slot == 0, chunk === otherChunk {
                prefix += chunk.entries.count
                left = Place(chunk: left.chunk + 1, slot: 0)
                right = Place(chunk: right.chunk + 1, slot: 0)
            } else {
                guard self[left] === other[right] else { break }
                prefix += 1
                (left, right) = (place(after: left), other.place(after: right))
            }
        }
        var suffix = 0
        let limit = Swift.min(count, other.count) - prefix
        (left, right) = (end, other.end)
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
            guard let before = place(before: left), let otherBefore = other.place(before: right),
                self[before] === other[otherBefore]
            else { break }
            suffix += 1
            (left, right) = (before, otherBefore)
        }
        return (prefix, suffix)
    }
}

extension RegionList: Sequence {
    struct Iterator: IteratorProtocol {
        private let list: RegionList
        private var place: Place

        init(_ list: RegionList) {
            self.list = list
            place = list.start
        }

        mutating func next() -> DocumentRegion? {
            guard place < list.end else { return nil }
            defer { place = list.place(after: place) }
            return list[place]
        }
    }

    func makeIterator() -> Iterator { Iterator(self) }
}

extension DocumentRegion {
    fileprivate var extent: RegionList.Extent {
        .init(bytes: length, utf16: utf16.count, nodes: nodeCount - 1)
    }
}
