// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of CoreGraphics that the image cache uses.
@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGImage {
    public var bytesPerRow: Int { fatalError() }
    public var height: Int { fatalError() }
    init() {}
}
