#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The source of a ``ResponseBody``. Implement it when you write a ``Transport``.
public protocol ResponseBodySource: AnyObject, Sendable {
    /// Returns all chunks that have arrived since the last call, and waits if there are none. Returns `nil` at the end of the body, and in
    /// every call after that.
    func nextBatch() async throws -> [Data]?
    /// The durations of the exchange's steps so far, or `nil`, the default, if the transport doesn't measure them.
    var timings: TransportTimings? { get }
}

extension ResponseBodySource {
    /// The default implementation, which returns `nil`.
    public var timings: TransportTimings? { nil }
}
