public import SluiceConcurrency

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// An alert shows `localizedDescription`. SluiceConcurrency doesn't import Foundation, so its errors conform here.

extension DeadlineExceeded: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}

extension WeightExceedsLimit: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}

extension QueueFinished: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}

extension PromiseAbandoned: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}

extension BroadcastError: LocalizedError {
    /// The same text as `description`.
    public var errorDescription: String? { description }
}
