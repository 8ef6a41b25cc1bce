import Foundation

/// Records values in order, from any task or thread.
public final class Recorder<Value: Sendable>: @unchecked Sendable {
    // `lock` protects `noted`.
    private let lock = NSLock()
    private var noted: [Value] = []

    /// Creates an empty recorder.
    public init() {}

    /// Records a value.
    public func note(_ value: Value) {
        lock.withLock { noted.append(value) }
    }

    /// Removes all values.
    public func forget() {
        _ = lock.withLock {
            defer { noted = [] }
            return noted
        }
    }

    /// The recorded values.
    public var values: [Value] {
        lock.withLock { noted }
    }
}
