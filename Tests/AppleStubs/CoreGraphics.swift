// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of CoreGraphics that the image cache and NativeMark use.
public import AppleFoundation

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGImage {
    public var bytesPerRow: Int { fatalError() }
    public var height: Int { fatalError() }
    public var width: Int { fatalError() }
    public var alphaInfo: CGImageAlphaInfo { fatalError() }
    init() {}
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum CGImageAlphaInfo: UInt32, Sendable {
    case none, premultipliedLast, premultipliedFirst, last, first, noneSkipLast, noneSkipFirst, alphaOnly
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGColor: Sendable { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public class CGPath { init() {} }

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGMutablePath: CGPath {
    public override init() {}
    public func move(to point: CGPoint, transform: CGAffineTransform = .identity) {}
    public func addLine(to point: CGPoint, transform: CGAffineTransform = .identity) {}
    public func addCurve(
        to end: CGPoint, control1: CGPoint, control2: CGPoint, transform: CGAffineTransform = .identity
    ) {}
    public func closeSubpath() {}
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public struct CGAffineTransform: Sendable {
    public static let identity = CGAffineTransform(scaleX: 1, y: 1)
    public init(scaleX sx: CGFloat, y sy: CGFloat) {}
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum CGLineCap: Int32, Sendable {
    case butt, round, square
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum CGLineJoin: Int32, Sendable {
    case miter, round, bevel
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public enum CGPathFillRule: Int, Sendable {
    case winding, evenOdd
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public final class CGContext {
    init() {}
    public var textMatrix: CGAffineTransform {
        get { .identity }
        set {}
    }
    public var textPosition: CGPoint {
        get { .zero }
        set {}
    }
    public func saveGState() {}
    public func restoreGState() {}
    public func translateBy(x tx: CGFloat, y ty: CGFloat) {}
    public func scaleBy(x sx: CGFloat, y sy: CGFloat) {}
    public func addPath(_ path: CGPath) {}
    public func clip(using rule: CGPathFillRule = .winding) {}
    public func fillPath(using rule: CGPathFillRule = .winding) {}
    public func strokePath() {}
    public func fill(_ rect: CGRect) {}
    public func setFillColor(_ color: CGColor) {}
    public func setStrokeColor(_ color: CGColor) {}
    public func setLineWidth(_ width: CGFloat) {}
    public func setLineDash(phase: CGFloat, lengths: [CGFloat]) {}
    public func setLineCap(_ cap: CGLineCap) {}
    public func setLineJoin(_ join: CGLineJoin) {}
    public func draw(_ image: CGImage, in rect: CGRect, byTiling: Bool = false) {}
}
