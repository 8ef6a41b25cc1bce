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
    /// Whether a limit on references or table cells changed the result. The limits apply to the document as a whole.
    let isLimited: Bool
    /// The number of bytes that references add to the document.
    let expansion: Int
    /// The number of cells that were added to complete table rows.
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

    /// Returns the number of a node. The root is 0, and the nodes of each region follow in the order of parsing. O(1).
    func number(of index: NodeIndex) -> Int {
        index.isRoot ? 0 : regions.extent(before: index.region).nodes + Int(index.node)
    }

    func record(at index: NodeIndex) -> NodeRecord { regions[index.region][Int(index.node)] }

    func kind(of index: NodeIndex) -> Document.Kind {
        index.isRoot ? .document : regions[index.region].kind(of: Int(index.node))
    }

    func isLeaf(_ index: NodeIndex) -> Bool { !index.isRoot && record(at: index).tag.isLeaf }

    func plainText(of index: NodeIndex) -> String {
        var result: [UInt8] = []
        if index.isRoot {
            for region in regions { region.appendPlainText(of: 0, to: &result) }
            for footnote in footnotes.map(self.index(of:)) {
                regions[footnote.region].appendPlainText(of: Int(footnote.node), to: &result)
            }
        } else {
            regions[index.region].appendPlainText(of: Int(index.node), to: &result)
        }
        return String(decoding: result, as: UTF8.self)
    }

    // MARK: Source

    func sourceRange(of index: NodeIndex) -> Range<Int> {
        guard !index.isRoot else { return 0..<regions.extent.bytes }
        let start = regions.extent(before: index.region).bytes
        let range = regionRange(of: index)
        return start + range.lowerBound..<start + range.upperBound
    }

    func utf16Range(of index: NodeIndex) -> Range<Int> {
        guard !index.isRoot else { return 0..<regions.extent.utf16 }
        let region = regions[index.region]
        let start = regions.extent(before: index.region)
        let range = regionRange(of: index)
        return withSource(start.bytes..<start.bytes + region.length) {
            start.utf16 + region.utf16.utf16Offset(of: range.lowerBound, in: $0)..<start.utf16
                + region.utf16.utf16Offset(of: range.upperBound, in: $0)
        }
    }

    private func regionRange(of index: NodeIndex) -> Range<Int> {
        let region = regions[index.region]
        let range = region.sourceRange(of: Int(index.node))
        let tag = region[Int(index.node)].tag
        guard tag == .softBreak || tag == .lineBreak, !range.isEmpty else { return range }
        // A line break covers both characters of CR LF.
        let last = regions.extent(before: index.region).bytes + range.upperBound
        let isLonger = withSource(last - 1..<min(last + 1, regions.extent.bytes)) { Array($0) == [0x0D, 0x0A] }
        return isLonger ? range.lowerBound..<range.upperBound + 1 : range
    }

    func withSource<Result>(_ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        // The string is contiguous, so this doesn't copy it.
        var source = source
        return source.withUTF8 { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    // MARK: Neighbors

    func parent(of index: NodeIndex) -> NodeIndex? {
        guard !index.isRoot else { return nil }
        return local(record(at: index).parent, in: index) ?? .root
    }

    func firstChild(of index: NodeIndex) -> NodeIndex? {
        guard index.isRoot else { return local(record(at: index).firstChild, in: index) }
        return firstBlock(from: regions.startIndex) ?? footnotes.first.map(self.index(of:))
    }

    func lastChild(of index: NodeIndex) -> NodeIndex? {
        guard index.isRoot else { return local(record(at: index).lastChild, in: index) }
        return footnotes.last.map(self.index(of:)) ?? lastBlock(before: regions.endIndex)
    }

    func next(after index: NodeIndex) -> NodeIndex? {
        guard !index.isRoot else { return nil }
        let record = record(at: index)
        guard record.parent == 0, record.next < 0 else { return local(record.next, in: index) }
        if record.tag == .footnoteDefinition {
            return Int(record.extra) < footnotes.count ? self.index(of: footnotes[Int(record.extra)]) : nil
        }
        return firstBlock(from: regions.index(after: index.region)) ?? footnotes.first.map(self.index(of:))
    }

    func previous(before index: NodeIndex) -> NodeIndex? {
        guard !index.isRoot else { return nil }
        let record = record(at: index)
        guard record.parent == 0, record.previous < 0 else { return local(record.previous, in: index) }
        if record.tag == .footnoteDefinition {
            return record.extra > 1
                ? self.index(of: footnotes[Int(record.extra) - 2]) : lastBlock(before: regions.endIndex)
        }
        return lastBlock(before: index.region)
    }

    /// Returns the index of another node in the region of `index`.
    private func local(_ node: Int32, in index: NodeIndex) -> NodeIndex? {
        node > 0 ? NodeIndex(region: index.region, node: node) : nil
    }

    func index(of footnote: Footnote) -> NodeIndex {
        NodeIndex(region: regions.index(atOffset: footnote.region), node: footnote.node)
    }

    /// Skips regions that contain only definitions, because they have no blocks.
    private func firstBlock(from index: RegionList.Index) -> NodeIndex? {
        var index = index
        while index < regions.endIndex {
            let first = regions[index][0].firstChild
            if first > 0 { return NodeIndex(region: index, node: first) }
            index = regions.index(after: index)
        }
        return nil
    }

    private func lastBlock(before index: RegionList.Index) -> NodeIndex? {
        var index = index
        while let before = regions.index(before: index) {
            let last = regions[before][0].lastChild
            if last > 0 { return NodeIndex(region: before, node: last) }
            index = before
        }
        return nil
    }
}

/// The position of a node in a document: its region, and its index in the region. Index 0 is the root of the document.
struct NodeIndex: Sendable, Hashable {
    var region: RegionList.Index
    var node: Int32

    static let root = NodeIndex(region: .init(chunk: 0, slot: 0), node: 0)
    var isRoot: Bool { node == 0 }
}
