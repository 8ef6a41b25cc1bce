import Testing
import TestSupport

@testable import SluiceConcurrency

@Suite struct `Every interleaving of a priority queue` {
    /// All kinds but those that drop the oldest, which a heap doesn't know.
    static let kinds = QueueKind.all.filter { $0.policy != .dropOldest }

    @Test(arguments: kinds)
    func `all that can happen in four steps agrees with a naive queue`(kind: QueueKind) {
        #expect(kind.priorityDriver().explore(4) > 1_000)
    }

    @Test(arguments: kinds)
    func `any long history agrees with a naive queue`(kind: QueueKind) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var driver = kind.priorityDriver()
            for operation in QueueDriver<PriorityBuffer<Int, Int>>.Operation.history(of: 1_000, using: &random) {
                _ = driver.perform(operation)
            }
        }
    }
}
