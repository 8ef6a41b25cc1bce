// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(SwiftUI)
public import Foundation
public import SwiftUI

/// A SwiftUI view that shows a document.
///
///     NativeMarkText("Hello *world*")
///         .nativeMarkStyle(.default.setting(inline: [.emphasis: [.color(.accent)]]))
///
/// The view takes the style sheet, code highlighter, color scheme, contrast and Dynamic Type size from the environment. Links open with the
/// environment's `openURL`. To show images, pass a closure that loads them. The view shows an image's alternative text until the image is
/// loaded, and if loading fails:
///
///     NativeMarkText(document) { image in
///         await loader.image(at: image.source)
///     }
///
/// Each evaluation of the view styles the text, and the initializers that take a string also parse it. If the text is long, store a
/// ``Document`` instead. Loading is cancelled when the view disappears or shows another document. Only leading borders are shown.
/// First-line indents aren't shown.
public struct NativeMarkText: View {
    /// A function that loads an image, or returns `nil`. The image's source comes from the document; don't trust it.
    public typealias ImageLoader = @Sendable (StyledText.Image) async -> Image?

    private let document: Document
    private let linkSchemes: Set<String>
    private let load: ImageLoader?

    @Environment(\.colorScheme) private var colorScheme
    @Environment(\.colorSchemeContrast) private var contrast
    @Environment(\.dynamicTypeSize) private var dynamicTypeSize
    @Environment(\.nativeMarkStyle) private var style
    @Environment(\.nativeMarkHighlighter) private var highlighter
    @State private var loaded: [String: Image] = [:]

    /// Creates a view that shows a document.
    ///
    /// - Parameters:
    ///   - linkSchemes: The schemes that links may open; see ``StyledText/Link/url(schemes:)``.
    ///   - images: Loads images, at most four concurrently. Without it, images aren't loaded.
    public init(
        _ document: Document, linkSchemes: Set<String> = StyledText.Link.openSchemes, images: ImageLoader? = nil
    ) {
        self.document = document
        self.linkSchemes = linkSchemes
        load = images
    }

    /// Creates a view that shows Markdown. The text is parsed each time the view is created.
    public init(
        _ markdown: String, linkSchemes: Set<String> = StyledText.Link.openSchemes, images: ImageLoader? = nil
    ) {
        self.init(Document(markdown), linkSchemes: linkSchemes, images: images)
    }

    /// Creates a view that shows a localized string in the user's language.
    ///
    /// Interpolated values are parsed as Markdown; see ``Document/escaped(_:)``.
    public init(
        localized resource: LocalizedStringResource, linkSchemes: Set<String> = StyledText.Link.openSchemes,
        images: ImageLoader? = nil
    ) {
        self.init(Document(localized: resource), linkSchemes: linkSchemes, images: images)
    }

    /// The content of the view.
    public var body: some View {
        let environment = StyleSheet.Environment(colorScheme, dynamicTypeSize, contrast)
        let text = StyledText(document, style: style, environment: environment, highlighter: highlighter)
        NativeMarkParagraphs(text: text, layout: ParagraphLayout(text), images: loaded, linkSchemes: linkSchemes)
            .task(id: document) {
                guard let load else { return }
                await text.loadImages(load) { index, image in loaded[text.images[index].source] = image }
            }
    }
}

// MARK: - Environment

extension View {
    /// Sets the style sheet of every ``NativeMarkText`` in the view.
    ///
    ///     settings.nativeMarkStyle(sheet)
    public func nativeMarkStyle(_ style: StyleSheet) -> some View {
        environment(\.nativeMarkStyle, style)
    }
}

extension View {
    /// Sets the code highlighter of every ``NativeMarkText`` in the view. By default, code has one style.
    ///
    ///     settings.nativeMarkHighlighter(.languages)
    public func nativeMarkHighlighter(_ highlighter: (any CodeHighlighter)?) -> some View {
        environment(\.nativeMarkHighlighter, highlighter)
    }
}

extension EnvironmentValues {
    /// The code highlighter of ``NativeMarkText`` views. By default `nil`.
    public var nativeMarkHighlighter: (any CodeHighlighter)? {
        get { self[NativeMarkHighlighterKey.self] }
        set { self[NativeMarkHighlighterKey.self] = newValue }
    }

    /// The style sheet of ``NativeMarkText`` views. By default ``StyleSheet/default``.
    public var nativeMarkStyle: StyleSheet {
        get { self[NativeMarkStyleKey.self] }
        set { self[NativeMarkStyleKey.self] = newValue }
    }
}

private struct NativeMarkStyleKey: EnvironmentKey {
    static let defaultValue = StyleSheet.default
}

private struct NativeMarkHighlighterKey: EnvironmentKey {
    static let defaultValue: (any CodeHighlighter)? = nil
}

extension StyleSheet.Environment {
    /// Creates an environment from a color scheme, a Dynamic Type size and a contrast.
    public init(
        _ colorScheme: ColorScheme, _ dynamicTypeSize: DynamicTypeSize, _ contrast: ColorSchemeContrast = .standard
    ) {
        self.init(
            appearance: colorScheme == .dark ? .dark : .light,
            contrast: contrast == .increased ? .increased : .standard,
            sizeCategory: StyleSheet.SizeCategory(dynamicTypeSize))
    }
}

extension StyleSheet.SizeCategory {
    /// Creates the category for a Dynamic Type size. An unknown size becomes ``large``.
    public init(_ size: DynamicTypeSize) {
        switch size {
        case .xSmall: self = .xSmall
        case .small: self = .small
        case .medium: self = .medium
        case .large: self = .large
        case .xLarge: self = .xLarge
        case .xxLarge: self = .xxLarge
        case .xxxLarge: self = .xxxLarge
        case .accessibility1: self = .accessibility1
        case .accessibility2: self = .accessibility2
        case .accessibility3: self = .accessibility3
        case .accessibility4: self = .accessibility4
        case .accessibility5: self = .accessibility5
        @unknown default: self = .large
        }
    }
}

// MARK: - Paragraphs

struct NativeMarkParagraphs: View {
    let text: StyledText
    let layout: ParagraphLayout
    let images: [String: Image]
    let linkSchemes: Set<String>

    var body: some View {
        VStack(alignment: .leading, spacing: 0) {
            ForEach(layout.sections, id: \.lowerBound) { section in
                let first = layout.paragraphs[section.lowerBound]
                if first.table == nil {
                    paragraph(first)
                } else {
                    table(layout.paragraphs[section])
                }
            }
        }
    }

    private func paragraph(_ paragraph: ParagraphLayout.Paragraph) -> some View {
        HStack(alignment: .firstTextBaseline, spacing: 0) {
            ForEach(paragraph.markers.indices, id: \.self) { index in
                let marker = paragraph.markers[index]
                Text(string(marker.text, marker.style))
                    .fixedSize()
                    .frame(minWidth: paragraph.end(ofMarker: index) - marker.start, alignment: .leading)
            }
            content(of: paragraph.cells.first, paragraph)
                .frame(maxWidth: .infinity, alignment: Alignment(paragraph.alignment))
        }
        .padding(.leading, paragraph.markers.isEmpty ? paragraph.indent : paragraph.start)
        .padding(.trailing, paragraph.trailingIndent)
        .padding(.top, paragraph.space)
        .background(alignment: .topLeading) { NativeMarkSides(paragraph: paragraph) }
        .accessibilityAddTraits(isHeading(paragraph) ? .isHeader : [])
    }

    private func table(_ rows: ArraySlice<ParagraphLayout.Paragraph>) -> some View {
        Grid(alignment: .leadingFirstTextBaseline, horizontalSpacing: 16, verticalSpacing: 4) {
            ForEach(rows.indices, id: \.self) { index in
                GridRow {
                    ForEach(rows[index].cells.indices, id: \.self) { column in
                        content(of: rows[index].cells[column], rows[index])
                            .padding(.top, rows[index].space)
                            .gridColumnAlignment(HorizontalAlignment(rows[index].cells[column].alignment))
                    }
                }
            }
        }
        .padding(.leading, rows.first?.indent ?? 0)
        .background(alignment: .topLeading) { rows.first.map { NativeMarkSides(paragraph: $0) } }
    }

    private func content(of cell: ParagraphLayout.Cell?, _ paragraph: ParagraphLayout.Paragraph) -> some View {
        Text(joining: texts(of: cell?.pieces ?? []))
            .multilineTextAlignment(TextAlignment(paragraph.alignment))
            .lineSpacing(paragraph.lineSpacing + extraSpacing(of: paragraph))
    }

    /// SwiftUI has no line height before iOS 26. The lines of system fonts are 1.2 em high, so a greater line height adds space between
    /// lines.
    private func extraSpacing(of paragraph: ParagraphLayout.Paragraph) -> Double {
        let style = text.blocks[paragraph.block].style
        return style.lineHeight.map { max($0 - 1.2, 0) * style.text.fontSize } ?? 0
    }

    private func isHeading(_ paragraph: ParagraphLayout.Paragraph) -> Bool {
        if case .heading = text.blocks[paragraph.block].kind { true } else { false }
    }

    // MARK: Text

    /// Returns a text for each image, and one for each stretch of text between images.
    private func texts(of pieces: [ParagraphLayout.Piece]) -> [Text] {
        var texts: [Text] = []
        var string = AttributedString()
        for piece in pieces {
            let run = text.runs[piece.run]
            if let image = run.image, let loaded = images[text.images[image].source] {
                texts.append(Text(string))
                string = AttributedString()
                texts.append(Text(loaded).accessibilityLabel(Text(verbatim: text.images[image].alternativeText)))
            } else {
                let link = run.link.flatMap { text.links[$0].url(schemes: linkSchemes) }
                string += self.string(String(text.string(of: piece)), run.style, link)
            }
        }
        return texts + [Text(string)]
    }

    private func string(_ string: String, _ style: ResolvedTextStyle, _ link: URL? = nil) -> AttributedString {
        var attributes = AttributeContainer()
        attributes.addSwiftUI(style)
        if let link { attributes[AttributeScopes.FoundationAttributes.LinkAttribute.self] = link }
        return AttributedString(string, attributes: attributes)
    }
}

private struct NativeMarkSides: View {
    let paragraph: ParagraphLayout.Paragraph

    var body: some View {
        ZStack(alignment: .topLeading) {
            if let background = paragraph.background {
                Rectangle()
                    .fill(Color(background.color) ?? .clear)
                    .padding(.leading, background.start)
                    .padding(.trailing, background.trailing)
                    .padding(.top, background.joins ? 0 : paragraph.space)
            }
            ForEach(paragraph.bars.indices, id: \.self) { index in
                let bar = paragraph.bars[index]
                Rectangle()
                    .fill(Color(bar.color) ?? .primary)
                    .frame(width: bar.width)
                    .padding(.leading, bar.start)
                    .padding(.top, bar.joins ? 0 : paragraph.space)
            }
        }
    }
}

extension Text {
    /// Concatenates texts in pairs, because concatenating them one by one would nest as deeply as there are texts.
    fileprivate init(joining texts: [Text]) {
        var texts = texts
        while texts.count > 1 {
            texts = stride(from: 0, to: texts.count, by: 2).map {
                $0 + 1 < texts.count ? texts[$0] + texts[$0 + 1] : texts[$0]
            }
        }
        self = texts.first ?? Text(verbatim: "")
    }
}

extension Alignment {
    fileprivate init(_ alignment: StyleSheet.Alignment) {
        switch alignment {
        case .leading, .justified: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}

extension TextAlignment {
    fileprivate init(_ alignment: StyleSheet.Alignment) {
        switch alignment {
        case .leading, .justified: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}

extension HorizontalAlignment {
    fileprivate init(_ alignment: Document.Alignment) {
        switch alignment {
        case .none, .leading: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}
// MARK: - Localized strings

extension Document {
    /// Parses a localized string in the user's language.
    ///
    /// Interpolated values are parsed as Markdown. To insert a name as plain text, use ``escaped(_:)`` or the arguments of
    /// ``init(localized:table:bundle:arguments:options:)``.
    public init(
        localized key: String.LocalizationValue, table: String? = nil, bundle: Bundle? = nil,
        locale: Locale = .current, options: Options = .init()
    ) {
        self.init(String(localized: key, table: table, bundle: bundle, locale: locale), options: options)
    }

    /// Parses a localized string resource in its locale.
    public init(localized resource: LocalizedStringResource, options: Options = .init()) {
        self.init(String(localized: resource), options: options)
    }

    /// Parses a localized string, with arguments inserted as plain text.
    ///
    ///     Document(localized: "greeting", arguments: [name])   // "Hello **%@**"
    ///
    /// See ``init(localized:in:languages:arguments:options:)`` for how arguments are inserted. If the table doesn't contain the key, the
    /// key itself is the text. Variations by plural category aren't supported here; the system supports them only for interpolated values.
    public init(
        localized key: String, table: String? = nil, bundle: Bundle = .main, arguments: [any CustomStringConvertible],
        options: Options = .init()
    ) {
        let format = bundle.localizedString(forKey: key, value: nil, table: table)
        self.init(format: format, arguments: arguments, options: options)
    }
}
#endif
