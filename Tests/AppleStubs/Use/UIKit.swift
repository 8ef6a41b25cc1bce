// Code from a UIKit app.
import AppleFoundation
import NativeMark
import SluiceCache
import UIKit

@MainActor func environment(of view: UIView) -> StyleSheet.Environment { .init(view.traitCollection) }

@MainActor func view(of document: Document) -> UIView { NativeMarkLabel(document) }

func brand(_ color: UIColor) -> StyleSheet.Color { .init(color) }

@MainActor func show(_ url: URL, in images: DecodedCache<PlatformImage>) -> UIImageView {
    let view = UIImageView(frame: .zero)
    view.setImage(from: url, in: images)
    view.setImage(from: nil, placeholder: UIImage(cgImage: CGImage.example))
    view.cancelImage()
    return view
}
