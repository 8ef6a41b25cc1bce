// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of Dispatch on Apple's platforms that the cache uses, and Linux lacks.
public protocol DispatchSourceMemoryPressure: AnyObject {
    func setEventHandler(handler: (() -> Void)?)
    func activate()
    func cancel()
}

public class DispatchQueue: @unchecked Sendable {
    public class func global() -> DispatchQueue { fatalError() }
}

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
