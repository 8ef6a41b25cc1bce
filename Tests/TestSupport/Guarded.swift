import Foundation

/// A value behind a lock that ThreadSanitizer knows. It doesn't know `Synchronization.Mutex` on Linux: a test that uses a `Mutex`
/// reports false races.
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
