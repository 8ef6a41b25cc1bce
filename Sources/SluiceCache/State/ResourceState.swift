/// What is known of one resource, for a user interface.
///
/// Further cases may be added, so a `switch` needs a `default`.
public enum ResourceState<Value: Sendable>: Sendable {
    /// The resource is being looked up, or its server hasn't answered.
    case waiting
    /// The bytes arrive.
    case receiving(ResourceProgress)
    /// The resource is here. This is the last state.
    case ready(Value, from: CachedResponse.Source)
    /// The request has failed, with a `TransferError` or the error of the decoder. This is the last state.
    case failed(any Error)

    /// The value of ``ready(_:from:)``, or `nil`.
    public var value: Value? {
        if case .ready(let value, _) = self { value } else { nil }
    }

    /// The progress of ``receiving(_:)``, or `nil`.
    public var progress: ResourceProgress? {
        if case .receiving(let progress) = self { progress } else { nil }
    }

    /// The error of ``failed(_:)``, or `nil`.
    public var error: (any Error)? {
        if case .failed(let error) = self { error } else { nil }
    }
}

/// The bytes of a response that have arrived.
public struct ResourceProgress: Sendable, Hashable {
    /// The number of bytes of the body that have arrived.
    public var receivedBytes: Int64
    /// The length of the body, or `nil` if its server doesn't announce it.
    public var totalBytes: Int64?

    /// Creates a progress value, for previews and tests.
    public init(receivedBytes: Int64, totalBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }

    /// The fraction from 0 to 1, or `nil` if the length is unknown.
    public var fractionCompleted: Double? {
        totalBytes.map { $0 > 0 ? min(1, Double(receivedBytes) / Double($0)) : 1 }
    }
}
