import Testing
import TestSupport

@testable import SluiceConcurrency

@Suite struct `Every interleaving of a queue` {
    @Test(arguments: QueueKind.all)
    func `all that can happen in four steps agrees with a naive queue`(kind: QueueKind) {
        #expect(kind.plainDriver().explore(4) > 1_000)
    }

    @Test
    func `all that can happen to a queue of one place in five steps agrees with a naive queue`() {
        #expect(QueueKind(capacity: 1, policy: .suspend).plainDriver().explore(5) > 20_000)
    }

    @Test(arguments: QueueKind.all)
    func `any long history agrees with a naive queue`(kind: QueueKind) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            var driver = kind.plainDriver()
            for operation in QueueDriver<FIFOBuffer<Int>>.Operation.history(of: 1_000, using: &random) {
                _ = driver.perform(operation)
            }
            _ = driver.perform(.finish)
            for _ in 0..<100 { _ = driver.perform(.suspendProducer) && driver.perform(.suspendConsumer) }
        }
    }
}
