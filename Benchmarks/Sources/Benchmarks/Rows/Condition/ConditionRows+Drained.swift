import SluiceConcurrency
import Synchronization

/// Many tasks wait for one condition.
extension ConditionRows {
    static var drained: [Row] { [10, 1_000, 100_000].map(growth) + memory }

    /// The cost of one waiting task must not depend on the number of waiting tasks.
    private static func growth(_ count: Int) -> Row {
        Row(
            "condition/signal to \(Format.number(Double(count))) waiters", .nanoseconds,
            against: "continuations, all resumed together"
        ) { stage, rounds in
            let total = max(count, stage.count(50_000, quick: 5_000))
            try await rounds(
                { try await drain(count, total: total, ours) },
                { try await drain(count, total: total) { .allTogether() } })
        }
    }

    private static var memory: [Row] {
        [
            memoryRow("condition/memory of a waiting task") { _ in ours() },
            memoryRow("condition/memory of a waiting task that can be cancelled", cancellable: true) { _ in
                let (condition, signal) = Condition.makeCondition()
                return Crowd {
                    (try? await condition.waitUnlessCancelled()) == .signalled ? 1 : 0
                } release: {
                    signal.signal()
                }
            },
        ]
    }

    private static func ours() -> Crowd {
        let (condition, signal) = Condition.makeCondition()
        return Crowd {
            await condition.wait() == .signalled ? 1 : 0
        } release: {
            signal.signal()
        }
    }
}

/// Returns a different number to each caller, from 0.
final class Turn: Sendable {
    private let next = Atomic(0)

    func take() -> Int { next.add(1, ordering: .relaxed).oldValue }
}
