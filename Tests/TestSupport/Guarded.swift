import Foundation

/// A value behind a lock that ThreadSanitizer knows, which it does not of `Synchronization.Mutex` on Linux: a test that uses
/// that one reports races that are none.
public final class Guarded<Value: ~Copyable>: @unchecked Sendable {
    // `lock` protects `value`.
    private let lock = NSLock()
    private var value: Value

    /// Puts a value behind a lock.
    public init(_ value: consuming sending Value) {
        self.value = value
    }

    /// Reads or changes the value; nothing else does meanwhile.
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
