/// The layout of a long document that is made only where it is looked at, and again only where the document changes.
///
///     var layout = DocumentLayout(document, style: .github, width: 640, engine: engine)
///     var sections = layout.sections(from: 0, height: 800)            // the first screen
///     layout.update(to: document.replacing(range, with: "x"))         // lays out nothing
///     sections = layout.sections(from: sections[0].index, height: 800)
///
/// A section is one block of the document, or a few. Sections keep their layout while they are near the visible ones. The space between two
/// sections is the larger one of their spacings, as in a ``TextLayout``. The box of the document itself isn't drawn.
///
/// Styling and layout take time in proportion to what is visible, and ``update(to:)`` in proportion to the sections in memory.
public struct DocumentLayout {
    /// The document that is laid out.
    public private(set) var document: Document
    private let style: StyleSheet
    private let environment: StyleSheet.Environment
    private let highlighter: (any CodeHighlighter)?
    private let width: Double
    private let engine: any TextEngine
    private let imageSize: (StyledText.Image) -> LayoutSize?
    private var known: [Int: Known] = [:]

    private struct Known {
        var text: StyledText
        var layout: TextLayout
        var isEmpty: Bool
    }

    /// A part of the document at its place.
    public struct Section {
        /// The number of the section, from 0.
        public var index: Int
        /// The distance from the top of the first section that was asked for.
        public var top: Double
        /// The styled text of the section.
        public var text: StyledText
        /// The layout, from its own top.
        public var layout: TextLayout
    }

    /// Creates a layout, without laying out anything.
    ///
    /// The parameters are those of ``StyledText/init(_:style:environment:highlighter:)`` and ``TextLayout/init(_:width:engine:lineLimit:imageSize:)``.
    public init(
        _ document: Document, style: StyleSheet = .default, environment: StyleSheet.Environment = .init(),
        highlighter: (any CodeHighlighter)? = nil, width: Double, engine: any TextEngine,
        imageSize: @escaping (StyledText.Image) -> LayoutSize? = { _ in nil }
    ) {
        self.document = document
        self.style = style
        self.environment = environment
        self.highlighter = highlighter
        self.width = width
        self.engine = engine
        self.imageSize = imageSize
    }

    /// The number of sections. The last one has the footnotes, if there are any.
    public var count: Int { document.storage.regions.count + (document.storage.footnotes.isEmpty ? 0 : 1) }

    /// The height of the whole document: exact where the sections are in memory, and otherwise estimated from the length of the text.
    public var height: Double {
        let regions = document.storage.regions
        var (bytes, points) = (0, 0.0)
        for (index, section) in known where index < regions.count {
            bytes += regions[regions.index(atOffset: index)].length
            points += section.layout.size.height + section.layout.spacing.below
        }
        return bytes > 0 ? points * Double(regions.extent.bytes) / Double(bytes) : 0
    }

    /// Returns the section that contains a position in the source, in UTF-8 offsets, to scroll there.
    public func section(at offset: Int) -> Int {
        let regions = document.storage.regions
        guard regions.count > 0 else { return 0 }
        let offset = min(max(offset, 0), max(regions.extent.bytes - 1, 0))
        return regions.offset(of: regions.index(ofByte: offset))
    }

    /// Returns the sections from an index down until they cover a height. Sections without text are left out, and there are none after
    /// ``count``.
    public mutating func sections(from first: Int, height: Double) -> [Section] {
        var sections: [Section] = []
        let first = min(max(first, 0), count)
        var index = first
        var (bottom, spacing) = (0.0, 0.0)
        while index < count, bottom < height {
            let section = known[index] ?? layOut(index)
            known[index] = section
            if !section.isEmpty {
                let top = sections.isEmpty ? 0 : bottom + max(spacing, section.layout.spacing.above)
                sections.append(Section(index: index, top: top, text: section.text, layout: section.layout))
                bottom = top + section.layout.size.height
                spacing = section.layout.spacing.below
            }
            index += 1
        }
        forget(outside: first - Self.keptSections..<index + Self.keptSections)
        return sections
    }

    /// The number of sections that are kept above and below the visible ones.
    private static let keptSections = 500

    private mutating func forget(outside range: Range<Int>) {
        guard known.count > 3 * Self.keptSections else { return }
        known = known.filter { range.contains($0.key) }
    }

    /// Takes an edited document. Sections that it shares with the one before keep their layout; see ``Document/changes(since:)``.
    public mutating func update(to edited: Document) {
        let regions = edited.storage.regions
        let shared = regions.shared(with: document.storage.regions)
        let (end, shift) = (
            document.storage.regions.count - shared.suffix, regions.count - document.storage.regions.count
        )
        var kept: [Int: Known] = [:]
        for (index, section) in known where index < document.storage.regions.count {
            if index < shared.prefix {
                kept[index] = section
            } else if index >= end {
                kept[index + shift] = section
            }
        }
        // The first and the last block may have styles of their own.
        for index in [shared.prefix - 1, shared.prefix, regions.count - shared.suffix, regions.count - 1] {
            kept[index] = nil
        }
        known = kept
        document = edited
    }

    private func layOut(_ index: Int) -> Known {
        var text = StyledText(
            blocks: blocks(of: index), of: document, style: style, environment: environment, highlighter: highlighter)
        // Each section would have the document's box.
        text.blocks[0].style.background = nil
        text.blocks[0].style.border = nil
        (text.blocks[0].style.padding.top, text.blocks[0].style.padding.bottom) = (0, 0)
        let layout = TextLayout(text, width: width, engine: engine) { [imageSize] in imageSize(text.images[$0]) }
        return Known(text: text, layout: layout, isEmpty: text.blocks.count <= 1)
    }

    private func blocks(of index: Int) -> [Document.Node] {
        let storage = document.storage
        guard index < storage.regions.count else {
            return storage.footnotes.map { Document.Node(document: document, index: storage.index(of: $0)) }
        }
        let region = storage.regions.index(atOffset: index)
        var blocks: [Document.Node] = []
        var node = storage.regions[region][0].firstChild
        while node > 0 {
            blocks.append(.init(document: document, index: NodeIndex(region: region, node: node)))
            node = storage.regions[region][Int(node)].next
        }
        return blocks
    }
}
