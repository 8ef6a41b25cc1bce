/// The immutable storage that all copies of a document share.
///
/// A document is a list of regions. The root and the links between the blocks of different regions aren't stored.
final class DocumentStorage: Sendable {
    /// Contiguous UTF-8.
    let source: String
    let options: Document.Options
    let regions: RegionList
    /// The referenced footnotes in the order of their numbers. They are the last children of the root.
    let footnotes: [Footnote]
    /// The definitions for all regions and the numbers of all footnotes, or `nil` for a part of a stream.
    let context: DocumentContext?
    /// Whether a limit on references or on cells changed the result. The limits belong to the document as a whole.
    let isLimited: Bool
    /// The number of bytes that references add, and of cells that were added to complete rows.
    let expansion: Int
    let autocompletedCells: Int
    /// For a part of a stream: the definitions from other parts that affect this part.
    let uses: [DocumentContext.Use]

    struct Footnote: Sendable {
        /// The index of the region.
        var region: Int
        var node: Int32
    }

    init(
        source: String, options: Document.Options, regions: RegionList, footnotes: [Footnote] = [],
        context: DocumentContext? = nil, isLimited: Bool = false, expansion: Int = 0, autocompletedCells: Int = 0,
        uses: [DocumentContext.Use] = []
    ) {
        self.source = source
        self.options = options
        self.regions = regions
        self.footnotes = footnotes
        self.context = context
        self.isLimited = isLimited
        self.expansion = expansion
        self.autocompletedCells = autocompletedCells
        self.uses = uses
    }

    // MARK: Nodes

    /// The root, and the nodes of all regions.
    var nodeCount: Int { regions.extent.nodes + 1 }

    /// The number of a node: the root, then the nodes of each region in the order in which they were parsed. O(1).
    func number(of place: NodePlace) -> Int {
        place.isRoot ? 0 : regions.extent(before: place.region).nodes + Int(place.index)
    }

    func record(at place: NodePlace) -> NodeRecord { regions[place.region][Int(place.index)] }

    func kind(of place: NodePlace) -> Document.Kind {
        place.isRoot ? .document : regions[place.region].kind(of: Int(place.index))
    }

    func isLeaf(_ place: NodePlace) -> Bool { !place.isRoot && record(at: place).tag.isLeaf }

    func plainText(of place: NodePlace) -> String {
        var result: [UInt8] = []
        if place.isRoot {
            for region in regions { region.appendPlainText(of: 0, to: &result) }
            for footnote in footnotes.map(place(of:)) {
                regions[footnote.region].appendPlainText(of: Int(footnote.index), to: &result)
            }
        } else {
            regions[place.region].appendPlainText(of: Int(place.index), to: &result)
        }
        return String(decoding: result, as: UTF8.self)
    }

    // MARK: Source

    func sourceRange(of place: NodePlace) -> Range<Int> {
        guard !place.isRoot else { return 0..<regions.extent.bytes }
        let start = regions.extent(before: place.region).bytes
        let range = regionRange(of: place)
        return start + range.lowerBound..<start + range.upperBound
    }

    func utf16Range(of place: NodePlace) -> Range<Int> {
        guard !place.isRoot else { return 0..<regions.extent.utf16 }
        let region = regions[place.region]
        let start = regions.extent(before: place.region)
        let range = regionRange(of: place)
        return withSource(start.bytes..<start.bytes + region.length) {
            start.utf16 + region.utf16.utf16Offset(of: range.lowerBound, in: $0)..<start.utf16
                + region.utf16.utf16Offset(of: range.upperBound, in: $0)
        }
    }

    private func regionRange(of place: NodePlace) -> Range<Int> {
        let region = regions[place.region]
        let range = region.sourceRange(of: Int(place.index))
        let tag = region[Int(place.index)].tag
        guard tag == .softBreak || tag == .lineBreak, !range.isEmpty else { return range }
        // A line break covers both characters of CR LF.
        let last = regions.extent(before: place.region).bytes + range.upperBound
        let isLonger = withSource(last - 1..<min(last + 1, regions.extent.bytes)) { Array($0) == [0x0D, 0x0A] }
        return isLonger ? range.lowerBound..<range.upperBound + 1 : range
    }

    func withSource<Result>(_ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        // The string is contiguous, so this doesn't copy it.
        var source = source
        return source.withUTF8 { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    // MARK: Neighbors

    func parent(of place: NodePlace) -> NodePlace? {
        guard !place.isRoot else { return nil }
        return local(record(at: place).parent, in: place) ?? .root
    }

    func firstChild(of place: NodePlace) -> NodePlace? {
        guard place.isRoot else { return local(record(at: place).firstChild, in: place) }
        return firstBlock(from: regions.start) ?? footnotes.first.map(self.place(of:))
    }

    func lastChild(of place: NodePlace) -> NodePlace? {
        guard place.isRoot else { return local(record(at: place).lastChild, in: place) }
        return footnotes.last.map(self.place(of:)) ?? lastBlock(before: regions.end)
    }

    func next(after place: NodePlace) -> NodePlace? {
        guard !place.isRoot else { return nil }
        let record = record(at: place)
        guard record.parent == 0, record.next < 0 else { return local(record.next, in: place) }
        if record.tag == .footnoteDefinition {
            return Int(record.extra) < footnotes.count ? self.place(of: footnotes[Int(record.extra)]) : nil
        }
        return firstBlock(from: regions.place(after: place.region)) ?? footnotes.first.map(self.place(of:))
    }

    func previous(before place: NodePlace) -> NodePlace? {
        guard !place.isRoot else { return nil }
        let record = record(at: place)
        guard record.parent == 0, record.previous < 0 else { return local(record.previous, in: place) }
        if record.tag == .footnoteDefinition {
            return record.extra > 1
                ? self.place(of: footnotes[Int(record.extra) - 2]) : lastBlock(before: regions.end)
        }
        return lastBlock(before: place.region)
    }

    private func local(_ index: Int32, in place: NodePlace) -> NodePlace? {
        index > 0 ? NodePlace(region: place.region, index: index) : nil
    }

    func place(of footnote: Footnote) -> NodePlace {
        NodePlace(region: regions.place(at: footnote.region), index: footnote.node)
    }

    /// Regions that contain only definitions have no block.
    private func firstBlock(from place: RegionList.Place) -> NodePlace? {
        var place = place
        while place < regions.end {
            let first = regions[place][0].firstChild
            if first > 0 { return NodePlace(region: place, index: first) }
            place = regions.place(after: place)
        }
        return nil
    }

    private func lastBlock(before place: RegionList.Place) -> NodePlace? {
        var place = place
        while let before = regions.place(before: place) {
            let last = regions[before][0].lastChild
            if last > 0 { return NodePlace(region: before, index: last) }
            place = before
        }
        return nil
    }
}

/// The place of a node in a document: its region, and its index in the region. Index 0 is the root of the document.
struct NodePlace: Sendable, Hashable {
    var region: RegionList.Place
    var index: Int32

    static let root = NodePlace(region: .init(chunk: 0, slot: 0), index: 0)
    var isRoot: Bool { index == 0 }
}
