#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AttributedString {
    /// Creates an attributed string with the attributes of ``NativeMarkAttributes``.
    ///
    /// On Apple platforms, the runs also have Foundation's presentation intents and links, and SwiftUI's fonts and colors. The characters
    /// are those of ``StyledText/string``. The separators between blocks have no attributes.
    public init(_ text: StyledText) {
        // Setting attributes on ranges of one string is three times as fast as appending the runs one by one.
        self.init(text.string)
        var place = utf8.startIndex
        var offset = 0
        var path: (block: Int, value: StyledText.Path)?
        #if canImport(Darwin)
        var intents: [Int: PresentationIntent] = [:]
        #endif
        for run in text.runs {
            let start = utf8.index(place, offsetBy: run.range.lowerBound - offset)
            let end = utf8.index(start, offsetBy: run.range.count)
            (place, offset) = (end, run.range.upperBound)
            if path?.block != run.block {
                path = (run.block, StyledText.Path(of: run.block, in: text))
            }
            var attributes = AttributeContainer()
            attributes[NativeMarkAttributes.TextStyle.self] = run.style
            attributes[NativeMarkAttributes.Blocks.self] = path?.value
            if let link = run.link { attributes[NativeMarkAttributes.Link.self] = text.links[link] }
            if let image = run.image { attributes[NativeMarkAttributes.Image.self] = text.images[image] }
            attributes[NativeMarkAttributes.Footnote.self] = run.footnote
            #if canImport(Darwin)
            attributes.addNative(run, in: text, intents: &intents)
            #endif
            self[start..<end].setAttributes(attributes)
        }
    }
}

extension StyledText {
    /// The blocks that enclose a piece of text, outermost first.
    public struct Path: Sendable, Hashable {
        /// The blocks from the document to the innermost block. Takes time linear in their number, which is hardly ever more than 100.
        public var blocks: [Block] { StyledText.path(ofBlock: number, in: all) }
        /// The index of the innermost block in ``StyledText/blocks``. It distinguishes adjacent paragraphs.
        public let number: Int
        /// The blocks of the text, which all its paths share. With a copy of its blocks, each cell of a deeply nested table would take
        /// 40 kB.
        let all: [Block]

        init(of block: Int, in text: StyledText) {
            number = block
            all = text.blocks
        }

        /// Returns whether the indices and the blocks are equal.
        public static func == (left: Path, right: Path) -> Bool {
            guard left.number == right.number else { return false }
            let isSame = left.all.withUnsafeBufferPointer { one in
                right.all.withUnsafeBufferPointer { one.baseAddress == $0.baseAddress }
            }
            return isSame || left.blocks == right.blocks
        }

        /// Hashes the index.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(number)
        }
    }
}
