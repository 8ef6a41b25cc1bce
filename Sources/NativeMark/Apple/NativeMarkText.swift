// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(SwiftUI)
public import Foundation
public import SwiftUI

/// A SwiftUI view that shows a document.
///
///     NativeMarkText("Hello *world*")
///         .nativeMarkStyle(.default.setting(inline: [.emphasis: [.color(.accent)]]))
///
/// The view takes the style sheet, the highlighter of code, the color scheme, the contrast and the Dynamic Type size from the environment. Links are opened with the
/// environment's `openURL`. Images are shown if you pass a closure that loads them; until an image is loaded, and if loading fails,
/// its alternative text is shown:
///
///     NativeMarkText(document) { image in
///         await loader.image(at: image.source)
///     }
///
/// Each evaluation of the view styles the text, and the initializers with a string also parse it; store a ``Document`` if the text is
/// long. Loading is cancelled when the view disappears or shows another document. Of borders only the leading ones are shown.
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
    ///   - images: Loads images, four concurrently. Without it, images aren't loaded.
    public init(
        _ document: Document, linkSchemes: Set<String> = StyledText.Link.openSchemes, images: ImageLoader? = nil
    ) {
        self.document = document
        self.linkSchemes = linkSchemes
        load = images
    }

    /// Creates a view that shows a Markdown text. The text is parsed each time the view is created.
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
#endif
