#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The attributes that an `AttributedString` made from ``StyledText`` has, the same on every platform.
///
///     let attributed = AttributedString(text)
///     for run in attributed.runs {
///         let style = run[NativeMarkAttributes.TextStyle.self]       // ResolvedTextStyle?
///         let blocks = run[NativeMarkAttributes.Blocks.self]         // StyledText.Path?
///     }
public struct NativeMarkAttributes: AttributeScope {
    /// What the text looks like.
    public let style: TextStyle
    /// The blocks around it.
    public let blocks: Blocks
    /// The link that it is a part of.
    public let link: Link
    /// The image that it stands for.
    public let image: Image
    /// The footnote that it refers to.
    public let footnote: Footnote

    /// What the text looks like.
    public enum TextStyle: AttributedStringKey {
        /// Sizes in points and plain colours.
        public typealias Value = ResolvedTextStyle
        /// The name of the attribute.
        public static let name = "NativeMark.TextStyle"
    }

    /// The blocks around the text.
    public enum Blocks: AttributedStringKey {
        /// From the document to the innermost block.
        public typealias Value = StyledText.Path
        /// The name of the attribute.
        public static let name = "NativeMark.Blocks"
    }

    /// The link that the text is a part of. Two links side by side stay two.
    public enum Link: AttributedStringKey {
        /// The destination as the document has it.
        public typealias Value = StyledText.Link
        /// The name of the attribute.
        public static let name = "NativeMark.Link"
    }

    /// The image that the text stands for.
    public enum Image: AttributedStringKey {
        /// Its source, title and alternative text.
        public typealias Value = StyledText.Image
        /// The name of the attribute.
        public static let name = "NativeMark.Image"
    }

    /// The footnote that the text refers to.
    public enum Footnote: AttributedStringKey {
        /// Its number.
        public typealias Value = Int
        /// The name of the attribute.
        public static let name = "NativeMark.Footnote"
    }
}
