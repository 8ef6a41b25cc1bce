// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
public import Foundation

#if canImport(UIKit)
public import UIKit
#else
public import AppKit
#endif

extension NSAttributedString {
    /// Creates an attributed string for text views, labels and printing, with fonts, colors, paragraph indents and markers as text.
    ///
    /// Borders aren't shown, nor is the background of a block outside its text. `trailing` alignment is shown as right alignment,
    /// because paragraph styles and text tabs have no trailing alignment.
    ///
    /// - Parameters:
    ///   - text: The styled document, resolved for the appearance in which it is shown.
    ///   - linkSchemes: The schemes that links may open; see ``StyledText/Link/url(schemes:)``. Other links are shown as text.
    ///   - image: Returns an image if it is already loaded. Other images are shown as their alternative text.
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
        // A negative tail indent is the distance from the trailing edge.
        style.tailIndent = -paragraph.trailingIndent
        style.paragraphSpacingBefore = paragraph.space
        style.lineSpacing = paragraph.lineSpacing
        if let height = paragraph.lineHeight {
            style.minimumLineHeight = height
            style.maximumLineHeight = height
        }
        style.usesDefaultHyphenation = paragraph.isHyphenated
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
