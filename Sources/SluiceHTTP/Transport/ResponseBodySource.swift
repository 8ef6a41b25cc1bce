#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where a ``ResponseBody`` comes from; for writing a ``Transport``.
public protocol ResponseBodySource: AnyObject, Sendable {
    /// All bytes that have arrived since the last call, waiting for at least one; nil at the end, also when asked again.
    func nextBatch() async throws -> [Data]?
    /// How long the steps of the exchange took until now; nil if that isn't measured, which is the default.
    var timings: TransportTimings? { get }
}

extension ResponseBodySource {
    /// Nil.
    public var timings: TransportTimings? { nil }
}
