import Foundation

/// Notes values in the order in which they come, from any task or thread.
public final class Recorder<Value: Sendable>: @unchecked Sendable {
    // `lock` protects `noted`.
    private let lock = NSLock()
    private var noted: [Value] = []

    /// Creates a recorder with nothing noted.
    public init() {}

    /// Notes a value.
    public func note(_ value: Value) {
        lock.withLock { noted.append(value) }
    }

    /// Forgets everything that was noted.
    public func forget() {
        _ = lock.withLock {
            defer { noted = [] }
            return noted
        }
    }

    /// What was noted so far.
    public var values: [Value] {
        lock.withLock { noted }
    }
}
