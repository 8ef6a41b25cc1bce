// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(CoreText)
public import CoreGraphics
import CoreText
import Foundation

#if canImport(UIKit)
import UIKit
#else
import AppKit
#endif

extension StyledText {
    /// A function that loads an image, or returns `nil`. The image's source comes from the document; don't trust it.
    public typealias ImageLoader = @Sendable (StyledText.Image) async -> CGImage?
}

/// What a label shows: a styled document, its images, and its layout for one width.
@MainActor final class LabelContent {
    private(set) var text = StyledText(Document(""))
    private var images: [String: CGImage] = [:]
    private var lineLimit: Int?
    private var known: (width: Double, layout: TextLayout)?
    private var loading: Task<Void, Never>?

    deinit { loading?.cancel() }

    /// Shows a text. Images that are loaded already stay.
    func show(_ text: StyledText, lineLimit: Int?) {
        self.text = text
        self.lineLimit = lineLimit
        known = nil
    }

    /// Loads the images of the text, and calls a closure after each one.
    func loadImages(_ load: StyledText.ImageLoader?, loaded: @escaping @MainActor () -> Void) {
        loading?.cancel()
        let sources = Set(text.images.map(\.source))
        images = images.filter { sources.contains($0.key) }
        guard let load, !text.images.isEmpty else { return }
        loading = Task { [weak self, text] in
            await text.loadImages({ image in await load(image).map(LoadedImage.init) }) { index, image in
                self?.images[text.images[index].source] = image.image
                self?.known = nil
                loaded()
            }
        }
    }

    /// Returns the layout for a width. It is kept until the text, an image or the width changes.
    func layout(width: Double) -> TextLayout {
        if let known, known.width == width { return known.layout }
        let layout = TextLayout(text, width: width, engine: CoreTextEngine(), lineLimit: lineLimit) { index in
            image(index).map { LayoutSize(width: Double($0.width), height: Double($0.height)) }
        }
        known = (width, layout)
        return layout
    }

    private func image(_ index: Int) -> CGImage? { images[text.images[index].source] }

    /// Draws the text in a context with y downward.
    func draw(in context: CGContext, width: Double) {
        let canvas = CoreGraphicsCanvas(context: context, image: image)
        for command in layout(width: width).commands { canvas.draw(command) }
    }

    /// Returns the address of the link at a point, if a link may open it.
    func url(at point: CGPoint, width: Double, schemes: Set<String>) -> URL? {
        layout(width: width).link(at: .init(x: point.x, y: point.y)).flatMap { text.links[$0].url(schemes: schemes) }
    }
}

/// A loaded image on its way to the main actor.
private struct LoadedImage: @unchecked Sendable {
    // No function changes a CGImage.
    let image: CGImage
}
#endif
