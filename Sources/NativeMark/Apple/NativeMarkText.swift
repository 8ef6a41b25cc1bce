// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if canImport(SwiftUI)
public import Foundation
public import SwiftUI

/// A document in SwiftUI.
///
///     NativeMarkText("Hello *world*")
///         .nativeMarkStyle(.default.setting(inline: [.emphasis: [.color(.accent)]]))
///
/// Takes the sheet, the colour scheme and the Dynamic Type size from the environment. Links open by the environment's
/// `openURL`. Images are shown if there is a way to load them; until one has come, and if it does not, there is its
/// alternative text:
///
///     NativeMarkText(document) { image in
///         await loader.image(at: image.source)
///     }
///
/// The text is made again whenever the view is: give it a ``Document`` that is kept somewhere if it is long. Of borders
/// only the leading ones are shown, and no indent of the first line alone.
public struct NativeMarkText: View {
    /// Loads an image, or gives nil. Its source comes from the document, and is not to be trusted.
    public typealias ImageLoader = @Sendable (StyledText.Image) async -> Image?

    private let document: Document
    private let linkSchemes: Set<String>
    private let load: ImageLoader?

    @Environment(\.colorScheme) private var colorScheme
    @Environment(\.dynamicTypeSize) private var dynamicTypeSize
    @Environment(\.nativeMarkStyle) private var style
    /// By source.
    @State private var loaded: [String: Image] = [:]

    /// Shows a document.
    ///
    /// - Parameters:
    ///   - document: What to show.
    ///   - linkSchemes: What links may open, see ``StyledText/Link/url(schemes:)``.
    ///   - images: Loads images, four at a time. None are loaded without it.
    public init(
        _ document: Document, linkSchemes: Set<String> = StyledText.Link.openSchemes, images: ImageLoader? = nil
    ) {
        self.document = document
        self.linkSchemes = linkSchemes
        load = images
    }

    /// Shows a text. It is parsed each time that the view is made.
    public init(
        _ markdown: String, linkSchemes: Set<String> = StyledText.Link.openSchemes, images: ImageLoader? = nil
    ) {
        self.init(Document(markdown), linkSchemes: linkSchemes, images: images)
    }

    /// Shows what a string catalogue has in the person's language.
    ///
    ///     NativeMarkText(localized: "welcome")
    ///
    /// What is interpolated is markup as well: see ``Document/escaped(_:)``.
    public init(
        localized resource: LocalizedStringResource, linkSchemes: Set<String> = StyledText.Link.openSchemes,
        images: ImageLoader? = nil
    ) {
        self.init(Document(localized: resource), linkSchemes: linkSchemes, images: images)
    }

    /// The paragraphs of the document, one below the other.
    public var body: some View {
        let environment = StyleSheet.Environment(colorScheme, dynamicTypeSize)
        let text = StyledText(document, style: style, environment: environment)
        NativeMarkParagraphs(text: text, layout: ParagraphLayout(text), images: loaded, linkSchemes: linkSchemes)
            .task(id: document) {
                guard let load else { return }
                await text.loadImages(load) { index, image in loaded[text.images[index].source] = image }
            }
    }
}
#endif
