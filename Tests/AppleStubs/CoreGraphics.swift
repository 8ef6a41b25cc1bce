// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of CoreGraphics that the cache of images uses.
public final class CGImage {
    public var bytesPerRow: Int { fatalError() }
    public var height: Int { fatalError() }
    init() {}
}
