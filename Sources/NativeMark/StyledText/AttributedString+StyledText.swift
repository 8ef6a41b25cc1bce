#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AttributedString {
    /// The text with the attributes of ``NativeMarkAttributes`` on its runs.
    ///
    ///     let attributed = AttributedString(StyledText(document))
    ///
    /// On Apple's platforms the runs also have Foundation's presentation intents and links, and SwiftUI's fonts and colours.
    ///
    /// The characters are those of ``StyledText/string``; separators between blocks have the attributes of no run. One
    /// string is made, and then attributes are set on ranges of it: appending one run after another takes three times as long.
    public init(_ text: StyledText) {
        self.init(text.string)
        var place = utf8.startIndex
        var offset = 0
        var path: (block: Int, value: StyledText.Path)?
        for run in text.runs {
            let start = utf8.index(place, offsetBy: run.range.lowerBound - offset)
            let end = utf8.index(start, offsetBy: run.range.count)
            (place, offset) = (end, run.range.upperBound)
            if path?.block != run.block {
                path = (run.block, StyledText.Path(blocks: text.path(of: run), number: run.block))
            }
            var attributes = AttributeContainer()
            attributes[NativeMarkAttributes.TextStyle.self] = run.style
            attributes[NativeMarkAttributes.Blocks.self] = path?.value
            if let link = run.link { attributes[NativeMarkAttributes.Link.self] = text.links[link] }
            if let image = run.image { attributes[NativeMarkAttributes.Image.self] = text.images[image] }
            attributes[NativeMarkAttributes.Footnote.self] = run.footnote
            #if canImport(Darwin)
            attributes.addNative(run, in: text, blocks: path?.value)
            #endif
            self[start..<end].setAttributes(attributes)
        }
    }
}

extension StyledText {
    /// The blocks around a piece of text, outermost first.
    public struct Path: Sendable, Hashable {
        /// The document, …, the innermost block.
        public var blocks: [Block]
        /// The number of the innermost block in ``StyledText/blocks``: two paragraphs side by side have two numbers.
        public var number: Int

        /// Whether the numbers and the blocks are the same.
        public static func == (left: Path, right: Path) -> Bool {
            left.number == right.number && left.blocks == right.blocks
        }
    }
}
