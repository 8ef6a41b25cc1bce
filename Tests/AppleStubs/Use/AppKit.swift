// Code from an AppKit app.
import AppKit
import AppleFoundation
import NativeMark
import SluiceCache

@MainActor func environment(of view: NSView) -> StyleSheet.Environment { .init(view.effectiveAppearance) }

@MainActor func view(of document: Document) -> NSView { NativeMarkLabel(document) }

func brand(_ color: NSColor) -> StyleSheet.Color { .init(color) }

@MainActor func show(_ url: URL, in images: DecodedCache<PlatformImage>) -> NSImageView {
    let view = NSImageView(frame: .zero)
    view.setImage(from: url, in: images)
    view.setImage(from: nil, placeholder: NSImage(cgImage: CGImage.example, size: .zero))
    view.cancelImage()
    return view
}
