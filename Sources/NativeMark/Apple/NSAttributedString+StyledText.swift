// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
public import Foundation

#if canImport(UIKit)
public import UIKit
#else
public import AppKit
#endif

extension NSAttributedString {
    /// The text as text views, labels and printers show it: fonts, colours, paragraphs with indents, markers as text.
    ///
    ///     let attributed = NSAttributedString(StyledText(document))
    ///
    /// What stands where is decided by code that is tested everywhere, and only translated here. Not shown: borders, and the
    /// background of a block beyond its letters. `trailing` is the right, as text tabs and paragraphs know no other.
    ///
    /// - Parameters:
    ///   - text: A styled document, resolved for the appearance that it is shown in.
    ///   - linkSchemes: What links may open, see ``StyledText/Link/url(schemes:)``. Other links are text.
    ///   - image: Gives an image that is there already. For the others there is the alternative text.
    public convenience init(
        _ text: StyledText, linkSchemes: Set<String> = StyledText.Link.openSchemes,
        image: (StyledText.Image) -> StyledText.NativeImage? = { _ in nil }
    ) {
        let images = text.images.map(image)
        let layout = ParagraphLayout(text) { piece, style in
            Double(NSAttributedString(string: String(piece), attributes: Self.attributes(of: style)).size().width)
        }
        let shown = ParagraphText(text, layout) { images[$0] != nil }
        let result = NSMutableAttributedString(string: shown.string)
        for span in shown.spans {
            let range = NSRange(location: span.range.lowerBound, length: span.range.count)
            result.setAttributes(Self.attributes(of: span.style), range: range)
            let link = span.run.flatMap { text.runs[$0].link }.flatMap { text.links[$0].url(schemes: linkSchemes) }
            if let link { result.addAttribute(.link, value: link, range: range) }
            if let image = span.image.flatMap({ images[$0] }) {
                let attachment = NSTextAttachment()
                attachment.image = image
                result.addAttribute(.attachment, value: attachment, range: range)
            }
        }
        for paragraph in shown.paragraphs {
            let range = NSRange(location: paragraph.range.lowerBound, length: paragraph.range.count)
            result.addAttribute(.paragraphStyle, value: NSParagraphStyle.native(paragraph), range: range)
        }
        self.init(attributedString: result)
    }

    private static func attributes(of style: ResolvedTextStyle) -> [NSAttributedString.Key: Any] {
        var attributes: [NSAttributedString.Key: Any] = [
            .font: NativeFont.native(style), .foregroundColor: NativeColor.native(style.color),
        ]
        if let background = style.background { attributes[.backgroundColor] = NativeColor.native(background) }
        if style.kerning != 0 { attributes[.kern] = style.kerning }
        if style.baseline != 0 { attributes[.baselineOffset] = style.baseline }
        if style.isUnderlined { attributes[.underlineStyle] = NSUnderlineStyle.single.rawValue }
        if style.isStruckThrough { attributes[.strikethroughStyle] = NSUnderlineStyle.single.rawValue }
        return attributes
    }
}

extension NSParagraphStyle {
    fileprivate static func native(_ paragraph: ParagraphText.Paragraph) -> NSParagraphStyle {
        let style = NSMutableParagraphStyle()
        style.alignment = NSTextAlignment(paragraph.alignment)
        style.firstLineHeadIndent = paragraph.firstIndent
        style.headIndent = paragraph.indent
        // Counted from the other edge if negative; 0 is that edge.
        style.tailIndent = -paragraph.trailingIndent
        style.paragraphSpacingBefore = paragraph.space
        style.lineSpacing = paragraph.lineSpacing
        style.tabStops = paragraph.tabs.map {
            NSTextTab(textAlignment: NSTextAlignment($0.alignment), location: $0.location, options: [:])
        }
        return style
    }
}

extension NSTextAlignment {
    fileprivate init(_ alignment: StyleSheet.Alignment) {
        switch alignment {
        case .leading: self = .natural
        case .center: self = .center
        case .trailing: self = .right
        case .justified: self = .justified
        }
    }
}
#endif
