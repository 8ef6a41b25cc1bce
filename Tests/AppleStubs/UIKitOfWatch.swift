// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// UIKit on watchOS, which has no views. See README.md.
public import AppleFoundation

@available(watchOS 2.0, *)
open class UIImage: NSObject, @unchecked Sendable {}

@available(watchOS 2.0, *)
open class UIColor: NSObject, @unchecked Sendable {
    public init(red: CGFloat, green: CGFloat, blue: CGFloat, alpha: CGFloat) {}
    @available(watchOS 4.0, *)
    public init?(named name: String) {}
}
