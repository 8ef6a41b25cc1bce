import Foundation

/// A value behind a lock that ThreadSanitizer understands. On Linux, it doesn't understand `Synchronization.Mutex` and reports false races.
public final class Guarded<Value: ~Copyable>: @unchecked Sendable {
    // `lock` protects `value`.
    private let lock = NSLock()
    private var value: Value

    /// Creates a guarded value.
    public init(_ value: consuming sending Value) {
        self.value = value
    }

    /// Calls `body` with the value, under the lock.
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

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
