// Code from an app on any Apple platform. It compiles only if the Apple parts of NativeMark were compiled.
import AppleFoundation
import NativeMark
import SluiceCache
import SwiftUI

struct Help: View {
    let document: Document

    var body: some View {
        VStack {
            NativeMarkText("Hello *world*")
            NativeMarkText(document, linkSchemes: ["https", "settings"]) { image in
                await loadImage(image.source)
            }
            NativeMarkText(localized: "welcome")
        }
        .nativeMarkStyle(.default.setting(inline: [.emphasis: [.color(.accent)]]))
    }
}

@Sendable private func loadImage(_ source: String) async -> CGImage? { nil }

func document() -> [Document] {
    [Document(localized: "welcome"), Document(localized: "greeting", arguments: ["Ada"])]
}

func words(_ text: StyledText) -> AttributedString { AttributedString(text) }

func height(_ text: StyledText) -> Double { TextLayout(text, width: 320, engine: CoreTextEngine()).size.height }

func environment(_ scheme: ColorScheme, _ size: DynamicTypeSize) -> StyleSheet.Environment { .init(scheme, size) }

func environment(_ contrast: ColorSchemeContrast) -> StyleSheet.Environment { .init(.light, .large, contrast) }

func brand(_ color: Color) -> StyleSheet.Color { .init(color) }

@MainActor func label(_ document: Document) -> NativeMarkLabel {
    let label = NativeMarkLabel(document, styleSheet: .default)
    label.markdown = "Hello *world*"
    label.linkSchemes = ["https"]
    label.lineLimit = 3
    label.onOpenLink = { print($0) }
    label.imageLoader = { await loadImage($0.source) }
    NativeMarkLabel.defaultStyleSheet = .github
    return label
}

struct Covers: View {
    let images: DecodedCache<PlatformImage>
    let url: URL?

    var body: some View {
        VStack {
            CachedImage(url) { image in
                image.resizable()
            } placeholder: {
                ProgressView()
            }
        }
        .cachedImages(in: images)
    }
}

extension CGImage {
    static var example: CGImage { PlatformImage(Data(), maximumPixelSize: 1)!.cgImage }
}
