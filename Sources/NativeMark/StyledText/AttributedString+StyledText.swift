#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AttributedString {
    /// Creates an attributed string with the attributes of ``NativeMarkAttributes``.
    ///
    /// On Apple platforms, runs also have Foundation's presentation intents and links, and SwiftUI's fonts and colors. The characters are
    /// the same as in ``StyledText/string``. Separators between blocks have no attributes.
    public init(_ text: StyledText) {
        // Setting attributes on ranges of one string is three times as fast as appending runs one by one.
        self.init(text.string)
        var index = utf8.startIndex
        var offset = 0
        var path: (block: Int, value: StyledText.Path)?
        #if canImport(Darwin)
        var intents: [Int: PresentationIntent] = [:]
        #endif
        for run in text.runs {
            let start = utf8.index(index, offsetBy: run.range.lowerBound - offset)
            let end = utf8.index(start, offsetBy: run.range.count)
            (index, offset) = (end, run.range.upperBound)
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
        /// The blocks from the document to the innermost block. Takes time linear in their number, which rarely exceeds 100.
        public var blocks: [Block] { StyledText.path(ofBlock: number, in: all) }
        /// The index of the innermost block in ``StyledText/blocks``. It tells adjacent paragraphs apart.
        public let number: Int
        /// All blocks of the text, shared by all its paths. With copies, each cell of a deeply nested table would take 40 kB.
        let all: [Block]

        init(of block: Int, in text: StyledText) {
            number = block
            all = text.blocks
        }

        /// Returns whether both paths have the same index and equal blocks.
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

// MARK: - Attributes

/// The attributes of an `AttributedString` created from a ``StyledText``. They are the same on every platform.
///
///     let attributed = AttributedString(text)
///     for run in attributed.runs {
///         let style = run[NativeMarkAttributes.TextStyle.self]       // ResolvedTextStyle?
///         let blocks = run[NativeMarkAttributes.Blocks.self]         // StyledText.Path?
///     }
public struct NativeMarkAttributes: AttributeScope {
    /// The style of the text.
    public let style: TextStyle
    /// The blocks that enclose the text.
    public let blocks: Blocks
    /// The link that the text belongs to.
    public let link: Link
    /// The image that the text stands for.
    public let image: Image
    /// The footnote that the text refers to.
    public let footnote: Footnote

    /// The style of the text.
    public enum TextStyle: AttributedStringKey {
        /// A style with lengths in points and plain colors.
        public typealias Value = ResolvedTextStyle
        /// The name of the attribute.
        public static let name = "NativeMark.TextStyle"
    }

    /// The blocks that enclose the text.
    public enum Blocks: AttributedStringKey {
        /// The blocks from the document to the innermost block.
        public typealias Value = StyledText.Path
        /// The name of the attribute.
        public static let name = "NativeMark.Blocks"
    }

    /// The link that the text belongs to.
    public enum Link: AttributedStringKey {
        /// The link's destination and title.
        public typealias Value = StyledText.Link
        /// The name of the attribute.
        public static let name = "NativeMark.Link"
    }

    /// The image that the text stands for.
    public enum Image: AttributedStringKey {
        /// The image's source, title and alternative text.
        public typealias Value = StyledText.Image
        /// The name of the attribute.
        public static let name = "NativeMark.Image"
    }

    /// The footnote that the text refers to.
    public enum Footnote: AttributedStringKey {
        /// The number of the footnote.
        public typealias Value = Int
        /// The name of the attribute.
        public static let name = "NativeMark.Footnote"
    }
}

// MARK: - Traits

extension StyledText {
    /// The traits of a run relative to its block, for screen readers and Foundation's inline intents.
    struct Traits: OptionSet, Sendable, Hashable {
        let rawValue: Int

        static let emphasis = Traits(rawValue: 1)
        static let strong = Traits(rawValue: 2)
        static let code = Traits(rawValue: 4)
        static let strikethrough = Traits(rawValue: 8)
        static let lineBreak = Traits(rawValue: 16)
    }

    /// Returns the traits of a run. For example, bold text in a bold heading isn't strong, but heavier text is.
    func traits(of run: Run) -> Traits {
        let outer = blocks[run.block].style.text
        var traits: Traits = []
        if run.style.isItalic, !outer.isItalic { traits.insert(.emphasis) }
        if run.style.isBold, run.style.fontWeight > outer.fontWeight { traits.insert(.strong) }
        if run.style.fontDesign == .monospaced, outer.fontDesign != .monospaced { traits.insert(.code) }
        if run.style.isStruckThrough, !outer.isStruckThrough { traits.insert(.strikethrough) }
        if run.isLineBreak { traits.insert(.lineBreak) }
        return traits
    }
}
