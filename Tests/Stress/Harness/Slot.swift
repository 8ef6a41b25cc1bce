import TestSupport

/// A reference that any thread can drop.
final class Slot<Value: Sendable>: Sendable {
    private let value: Guarded<Value?>

    init(_ value: Value?) { self.value = Guarded(value) }

    func take() -> Value? {
        value.withLock { value in
            defer { value = nil }
            return value
        }
    }

    var copy: Value? { value.withLock { $0 } }

    func drop() { _ = take() }

    func change(_ body: (inout Value?) -> Void) { value.withLock { body(&$0) } }
}
