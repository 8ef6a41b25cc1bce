#if os(macOS) || (canImport(UIKit) && !os(watchOS))
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// MARK: - Requests of views that are reused

/// The running request of each image view.
@MainActor private enum ViewRequests {
    // A request removes itself when it ends, so there are only running ones. A view that is released leaves its request to end by itself. A
    // new view at the same address cancels it.
    private static var running: [ObjectIdentifier: (number: Int, task: Task<Void, Never>)] = [:]
    private static var last = 0

    static func cancel(_ view: AnyObject) { running.removeValue(forKey: ObjectIdentifier(view))?.task.cancel() }

    static func start(for view: AnyObject, _ work: @escaping @MainActor () async -> Void) {
        cancel(view)
        let id = ObjectIdentifier(view)
        last += 1
        let number = last
        running[id] = (
            number,
            Task {
                await work()
                if running[id]?.number == number { running[id] = nil }
            }
        )
    }
}

/// The size of a view in pixels, rounded up to a power of two: views whose sizes differ a little share their images. `nil` if the view has no
/// size yet.
private func pixelSize(of size: CGSize, scale: CGFloat) -> Int? {
    let pixels = max(size.width, size.height) * scale
    guard pixels >= 1, pixels < 16_384 else { return nil }
    var power = 64
    while power < Int(pixels.rounded(.up)) { power *= 2 }
    return power
}
#endif

// MARK: - UIKit

#if canImport(UIKit) && !os(watchOS)
public import UIKit

extension UIImageView {
    /// Shows an image from a cache, and until then one from memory or a placeholder.
    ///
    ///     imageView.setImage(from: url, in: images)
    ///
    /// A later call, for example when a cell is reused, cancels the request of an earlier one, whose image isn't shown anymore. If the image
    /// can't be loaded, the placeholder stays.
    ///
    /// - Parameters:
    ///   - url: The URL of the image, which may be a `file:` URL. `nil` shows the placeholder.
    ///   - images: The cache.
    ///   - maximumPixelSize: The largest width and height in pixels. `nil` means the next power of two of the view's size or, if the view
    ///     has no size yet, the size of the cache.
    ///   - placeholder: The image to show first.
    public func setImage(
        from url: URL?, in images: DecodedCache<PlatformImage> = .shared, maximumPixelSize: Int? = nil,
        placeholder: UIImage? = nil
    ) {
        let size = maximumPixelSize ?? pixelSize(of: bounds.size, scale: max(1, traitCollection.displayScale))
        guard let url else {
            cancelImage()
            image = placeholder
            return
        }
        image = images.valueInMemory(for: url, pixelSize: size).map { UIImage(cgImage: $0.cgImage) } ?? placeholder
        ViewRequests.start(for: self) { [weak self] in
            for await state in images.states(of: url, pixelSize: size) {
                guard let image = state.visibleValue, !Task.isCancelled else { continue }
                self?.image = UIImage(cgImage: image.cgImage)
            }
        }
    }

    /// Cancels the request of ``setImage(from:in:maximumPixelSize:placeholder:)``, for example in `prepareForReuse()`.
    public func cancelImage() { ViewRequests.cancel(self) }
}
#endif

// MARK: - AppKit

#if os(macOS)
public import AppKit

extension NSImageView {
    /// Shows an image from a cache, and until then one from memory or a placeholder.
    ///
    ///     imageView.setImage(from: url, in: images)
    ///
    /// A later call, for example when a cell is reused, cancels the request of an earlier one, whose image isn't shown anymore. If the image
    /// can't be loaded, the placeholder stays.
    ///
    /// - Parameters:
    ///   - url: The URL of the image, which may be a `file:` URL. `nil` shows the placeholder.
    ///   - images: The cache.
    ///   - maximumPixelSize: The largest width and height in pixels. `nil` means the next power of two of the view's size or, if the view
    ///     has no size yet, the size of the cache.
    ///   - placeholder: The image to show first.
    public func setImage(
        from url: URL?, in images: DecodedCache<PlatformImage> = .shared, maximumPixelSize: Int? = nil,
        placeholder: NSImage? = nil
    ) {
        let scale = max(1, window?.backingScaleFactor ?? 2)
        let size = maximumPixelSize ?? pixelSize(of: bounds.size, scale: scale)
        guard let url else {
            cancelImage()
            image = placeholder
            return
        }
        image = images.valueInMemory(for: url, pixelSize: size).map { Self.image($0, scale) } ?? placeholder
        ViewRequests.start(for: self) { [weak self] in
            for await state in images.states(of: url, pixelSize: size) {
                guard let image = state.visibleValue, !Task.isCancelled else { continue }
                self?.image = Self.image(image, scale)
            }
        }
    }

    /// Cancels the request of ``setImage(from:in:maximumPixelSize:placeholder:)``, for example in `prepareForReuse()`.
    public func cancelImage() { ViewRequests.cancel(self) }

    private static func image(_ image: PlatformImage, _ scale: CGFloat) -> NSImage {
        NSImage(
            cgImage: image.cgImage,
            size: NSSize(width: CGFloat(image.width) / scale, height: CGFloat(image.height) / scale))
    }
}
#endif
