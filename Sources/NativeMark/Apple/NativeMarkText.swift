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
/// ``Document`` instead. Loading is cancelled when the view disappears or shows another document.
///
/// The view is a ``NativeMarkLabel``, and as wide as its place. On watchOS, which has no such views, links can't be opened.
public struct NativeMarkText: View {
    private let document: Document
    private let linkSchemes: Set<String>
    private let load: StyledText.ImageLoader?
    private let lineLimit: Int?

    @Environment(\.colorScheme) private var colorScheme
    @Environment(\.colorSchemeContrast) private var contrast
    @Environment(\.dynamicTypeSize) private var dynamicTypeSize
    @Environment(\.nativeMarkStyle) private var style
    @Environment(\.nativeMarkHighlighter) private var highlighter
    @Environment(\.openURL) private var openURL

    /// Creates a view that shows a document.
    ///
    /// - Parameters:
    ///   - linkSchemes: The schemes that links may open; see ``StyledText/Link/url(schemes:)``.
    ///   - lineLimit: The number of lines that are shown, or `nil` for all. If there is more text, the last line ends with an ellipsis.
    ///   - images: Loads images, at most four concurrently. Without it, images aren't loaded.
    public init(
        _ document: Document, linkSchemes: Set<String> = StyledText.Link.openSchemes, lineLimit: Int? = nil,
        images: StyledText.ImageLoader? = nil
    ) {
        self.document = document
        self.linkSchemes = linkSchemes
        self.lineLimit = lineLimit
        load = images
    }

    /// Creates a view that shows Markdown. The text is parsed each time the view is created.
    public init(
        _ markdown: String, linkSchemes: Set<String> = StyledText.Link.openSchemes, lineLimit: Int? = nil,
        images: StyledText.ImageLoader? = nil
    ) {
        self.init(Document(markdown), linkSchemes: linkSchemes, lineLimit: lineLimit, images: images)
    }

    /// Creates a view that shows a localized string in the user's language.
    ///
    /// Interpolated values are parsed as Markdown; see ``Document/escaped(_:)``.
    public init(
        localized resource: LocalizedStringResource, linkSchemes: Set<String> = StyledText.Link.openSchemes,
        lineLimit: Int? = nil, images: StyledText.ImageLoader? = nil
    ) {
        self.init(Document(localized: resource), linkSchemes: linkSchemes, lineLimit: lineLimit, images: images)
    }

    /// The content of the view.
    public var body: some View { content(in: .init(colorScheme, dynamicTypeSize, contrast)) }

    #if os(watchOS)
    private func content(in environment: StyleSheet.Environment) -> some View {
        NativeMarkCanvas(
            text: StyledText(document, style: style, environment: environment, highlighter: highlighter),
            lineLimit: lineLimit, load: load)
    }
    #else
    private func content(in environment: StyleSheet.Environment) -> some View {
        NativeMarkLabelView { label in
            // Each change lays out the text again.
            if label.document != document || load != nil && label.imageLoader == nil {
                label.imageLoader = nil
                label.document = document
                label.imageLoader = load
            }
            if label.styleSheet != style { label.styleSheet = style }
            if label.lineLimit != lineLimit { label.lineLimit = lineLimit }
            label.environment = environment
            label.linkSchemes = linkSchemes
            if highlighter != nil || label.highlighter != nil { label.highlighter = highlighter }
            label.onOpenLink = { openURL($0) }
        }
    }
    #endif
}

// MARK: - The label

#if os(watchOS)
/// Draws a text in a canvas.
private struct NativeMarkCanvas: View {
    let text: StyledText
    let lineLimit: Int?
    let load: StyledText.ImageLoader?
    @State private var content = LabelContent()
    @State private var width = 0.0
    @State private var loadedCount = 0

    var body: some View {
        // The width isn't known before the first layout.
        let height = width > 0 ? layout().size.height.rounded(.up) : 0
        Canvas { context, size in
            context.withCGContext { content.draw(in: $0, width: Double(size.width)) }
        }
        .frame(maxWidth: .infinity)
        .frame(height: CGFloat(height))
        .onGeometryChange(for: CGFloat.self) {
            $0.size.width
        } action: {
            width = Double($0)
        }
        .accessibilityLabel(Text(verbatim: text.string))
        .task(id: text.images) {
            content.loadImages(load) { loadedCount += 1 }
        }
    }

    private func layout() -> TextLayout {
        _ = loadedCount
        content.show(text, lineLimit: lineLimit)
        return content.layout(width: width)
    }
}
#elseif canImport(UIKit)
/// A label in SwiftUI.
private struct NativeMarkLabelView: UIViewRepresentable {
    let update: (NativeMarkLabel) -> Void

    func makeUIView(context: Context) -> NativeMarkLabel { NativeMarkLabel(frame: .zero) }

    func updateUIView(_ label: NativeMarkLabel, context: Context) { update(label) }

    func sizeThatFits(_ proposal: ProposedViewSize, uiView label: NativeMarkLabel, context: Context) -> CGSize? {
        guard let width = proposal.width, width.isFinite else { return nil }
        return CGSize(width: width, height: label.sizeThatFits(CGSize(width: width, height: 0)).height)
    }
}
#else
/// A label in SwiftUI.
private struct NativeMarkLabelView: NSViewRepresentable {
    let update: (NativeMarkLabel) -> Void

    func makeNSView(context: Context) -> NativeMarkLabel { NativeMarkLabel(frame: .zero) }

    func updateNSView(_ label: NativeMarkLabel, context: Context) { update(label) }

    func sizeThatFits(_ proposal: ProposedViewSize, nsView label: NativeMarkLabel, context: Context) -> CGSize? {
        guard let width = proposal.width, width.isFinite else { return nil }
        return CGSize(width: width, height: label.height(width: width))
    }
}
#endif

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
