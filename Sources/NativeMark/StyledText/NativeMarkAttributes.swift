#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The attributes of an `AttributedString` created from ``StyledText``. They are the same on every platform.
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
