#if canImport(SwiftUI)
public import SwiftUI

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A view that shows an image from the cache: fetched and decoded once, however many views show it.
///
///     struct Cover: View {
///         let url: URL
///
///         var body: some View {
///             CachedImage(url, maximumPixelSize: 480) { image in image.resizable() } placeholder: { ProgressView() }
///         }
///     }
///
/// An image in memory appears in the first frame. A larger size in memory is shown until the requested one is decoded.
///
/// The placeholder is shown until the image is there, and if it can't be loaded. To show the progress or the error, follow
/// ``DecodedCache/states(of:maximumPixelSize:)`` with a `Latest` from SluiceConcurrency.
///
/// The images come from ``DecodedCache/shared``, unless a view above has another cache: `.cachedImages(in: images)`.
///
/// - Cancellation: When the view disappears, its request is cancelled, unless another view is waiting for the image.
public struct CachedImage<Content: View, Placeholder: View>: View {
    private struct Request: Hashable {
        var url: URL?
        var size: Int?
    }

    private struct Shown {
        var request: Request
        var image: PlatformImage
    }

    private let request: Request
    private let scale: CGFloat
    private let content: (Image) -> Content
    private let placeholder: () -> Placeholder
    @Environment(\.cachedImages) private var images
    @State private var shown: Shown?

    /// Creates a view that shows an image, or a placeholder while there is none.
    ///
    /// - Parameters:
    ///   - url: The URL of the image, which may be a `file:` URL. `nil` shows the placeholder.
    ///   - maximumPixelSize: The largest width and height in pixels: the size of the view, multiplied by its scale. `nil` means that of the
    ///     cache, which suits images that fill a screen.
    ///   - scale: The number of pixels per point, for images that aren't resizable.
    ///   - content: The view of the image.
    ///   - placeholder: The view without an image.
    public init(
        _ url: URL?, maximumPixelSize: Int? = nil, scale: CGFloat = 1,
        @ViewBuilder content: @escaping (Image) -> Content, @ViewBuilder placeholder: @escaping () -> Placeholder
    ) {
        request = Request(url: url, size: maximumPixelSize)
        self.scale = scale
        self.content = content
        self.placeholder = placeholder
    }

    /// The image or the placeholder.
    public var body: some View {
        ZStack {
            if let image = visibleImage {
                content(Image(decorative: image.cgImage, scale: scale))
            } else {
                placeholder()
            }
        }
        .task(id: request) { await load() }
    }

    private var visibleImage: PlatformImage? {
        if let shown, shown.request == request { return shown.image }
        return request.url.flatMap { images.valueInMemory(for: $0, pixelSize: request.size) }
    }

    private func load() async {
        guard let url = request.url else { return }
        for await state in images.states(of: url, pixelSize: request.size) {
            guard let image = state.visibleValue, !Task.isCancelled else { continue }
            shown = Shown(request: request, image: image)
        }
    }
}

// MARK: - The cache of a view's images

extension View {
    /// Sets the cache from which the ``CachedImage``s in this view come.
    ///
    ///     struct Gallery: View {
    ///         let images: DecodedCache<PlatformImage>
    ///         let urls: [URL]
    ///
    ///         var body: some View {
    ///             VStack {
    ///                 ForEach(urls, id: \.self) { url in
    ///                     CachedImage(url, maximumPixelSize: 240) { $0.resizable() } placeholder: { ProgressView() }
    ///                 }
    ///             }
    ///             .cachedImages(in: images)
    ///         }
    ///     }
    nonisolated public func cachedImages(in images: DecodedCache<PlatformImage>) -> some View {
        environment(\.cachedImages, images)
    }
}

extension EnvironmentValues {
    fileprivate var cachedImages: DecodedCache<PlatformImage> {
        get { self[CachedImagesKey.self] }
        set { self[CachedImagesKey.self] = newValue }
    }
}

private struct CachedImagesKey: EnvironmentKey {
    static var defaultValue: DecodedCache<PlatformImage> { .shared }
}

// MARK: - The shared cache

extension DecodedCache where Value == PlatformImage {
    /// The cache of the views that name none: in the app's caches directory, with thumbnails on disk and the default limits.
    ///
    /// It is created when it is first used, and is never shut down. An app with other needs creates its own, for example for another
    /// transport.
    public static var shared: DecodedCache<PlatformImage> { sharedImages }

    func valueInMemory(for url: URL, pixelSize: Int?) -> PlatformImage? {
        valueInMemory(for: url, size: pixelSize.map { max(1, $0) }, orLarger: true)
    }

    func states(of url: URL, pixelSize: Int?) -> ResourceStates<PlatformImage> {
        states(of: url, size: pixelSize.map { max(1, $0) })
    }
}

private let sharedImages = ResourceCache(directory: .cachesDirectory.appending(path: "SluiceImages"))
    .platformImages(keepsThumbnails: true)
#endif
