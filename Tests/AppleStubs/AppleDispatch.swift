// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of Apple's Dispatch that the cache uses and Linux lacks.
@_exported public import struct Dispatch.DispatchData
@_exported public import class Dispatch.DispatchQueue
@_exported public import func Dispatch.dispatchMain

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public protocol DispatchSourceMemoryPressure: AnyObject {
    func setEventHandler(handler: (() -> Void)?)
    func activate()
    func cancel()
}

@available(macOS 10.15, iOS 13.0, tvOS 13.0, watchOS 6.0, *)
public class DispatchSource {
    public struct MemoryPressureEvent: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let normal = MemoryPressureEvent(rawValue: 1)
        public static let warning = MemoryPressureEvent(rawValue: 2)
        public static let critical = MemoryPressureEvent(rawValue: 4)
    }

    public class func makeMemoryPressureSource(
        eventMask: MemoryPressureEvent, queue: DispatchQueue? = nil
    ) -> any DispatchSourceMemoryPressure { fatalError() }
}
