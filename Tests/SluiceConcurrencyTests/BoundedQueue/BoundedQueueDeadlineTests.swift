import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `AsyncBoundedQueue: deadlines` {
    let executor = ManualExecutor()
    let clock = ManualClock()
    let queue = AsyncBoundedQueue<Int>(capacity: 1)

    private func dequeue() -> Task<Int?, any Error> {
        defer { executor.runUntilIdle() }
        return executor.spawnThrowing { [queue, clock] in
            try await queue.dequeue(until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
    }

    private func send(_ number: Int) -> Task<SendResult<Int>, any Error> {
        defer { executor.runUntilIdle() }
        return executor.spawnThrowing { [queue, clock] in
            try await queue.send(number, until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
    }

    private func pass(_ seconds: Int) {
        clock.advance(by: .seconds(seconds))
        executor.runUntilIdle()
    }

    @Test
    func `a consumer waits until the deadline and no longer, and takes nothing with it`() async throws {
        let consumer = dequeue()
        pass(2)
        #expect(clock.sleeperCount == 1)
        pass(1)

        let error = await #expect(throws: DeadlineExceeded.self) { try await consumer.value }
        #expect(error != nil && error?.cause == nil)
        #expect(queue.trySend(1) == .enqueued)
        #expect(queue.snapshot == [1])
    }

    @Test
    func `a consumer that gets its element in time leaves no sleeper behind`() async throws {
        let consumer = dequeue()
        #expect(queue.trySend(1) == .enqueued)
        executor.runUntilIdle()

        #expect(try await consumer.value == 1)
        #expect(clock.sleeperCount == 0)
        let other = dequeue()
        queue.finish()
        executor.runUntilIdle()
        #expect(try await other.value == nil)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `an element in the queue is taken although the deadline has passed`() async throws {
        pass(10)
        #expect(try await queue.send(1, until: ManualClock.Instant(), clock: clock) == .enqueued)
        #expect(try await queue.dequeue(until: ManualClock.Instant(), clock: clock) == 1)
    }

    @Test
    func `a producer waits until the deadline and no longer, and its element is not delivered`() async throws {
        #expect(queue.trySend(1) == .enqueued)
        let producer = send(2)
        let patient = executor.spawnThrowing { [queue] in try await queue.send(3) }
        executor.runUntilIdle()
        pass(3)

        await #expect(throws: DeadlineExceeded.self) { try await producer.value }
        #expect(queue.tryDequeue() == 1)
        executor.runUntilIdle()
        #expect(try await patient.value == .enqueued)
        #expect(queue.snapshot == [3])
    }

    @Test
    func `a producer that gets its place in time leaves no sleeper behind`() async throws {
        #expect(queue.trySend(1) == .enqueued)
        let producer = send(2)
        #expect(clock.sleeperCount == 1)

        #expect(queue.tryDequeue() == 1)
        executor.runUntilIdle()

        #expect(try await producer.value == .enqueued)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `cancellation and the end come before a deadline`() async throws {
        #expect(queue.trySend(0) == .enqueued)
        let cancelled = send(1)
        let ended = send(2)
        cancelled.cancel()
        executor.runUntilIdle()
        queue.finish()
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await #expect(throws: QueueFinished()) { try await ended.value }
        #expect(queue.tryDequeue() == 0)
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a cancelled consumer does not wait for its deadline`() async throws {
        let consumer = dequeue()
        consumer.cancel()
        executor.runUntilIdle()

        await #expect(throws: CancellationError.self) { try await consumer.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `a timeout of zero takes and sends what it can immediately, and then throws`() async throws {
        #expect(try await queue.send(1, timeout: .zero) == .enqueued)
        await #expect(throws: DeadlineExceeded.self) { try await queue.send(2, timeout: .zero) }
        #expect(try await queue.dequeue(timeout: .zero) == 1)
        await #expect(throws: DeadlineExceeded.self) { try await queue.dequeue(timeout: .zero) }
        #expect((queue.count, queue.waitingCount) == (0, 0))
    }

    @Test
    func `an unbounded queue has the same deadlines`() async throws {
        let queue = AsyncQueue<Int>()
        let consumer = executor.spawnThrowing { [clock] in
            try await queue.dequeue(until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
        executor.runUntilIdle()
        #expect(queue.waitingCount == 1)
        pass(3)

        await #expect(throws: DeadlineExceeded.self) { try await consumer.value }
        await #expect(throws: DeadlineExceeded.self) { try await queue.dequeue(timeout: .zero) }
        queue.enqueue(1)
        #expect(try await queue.dequeue(timeout: .zero) == 1)
        #expect(queue.waitingCount == 0)
    }

    @Test(arguments: 1...50)
    func `in any order of jobs an element is delivered or its send throws, when deadline and place come together`(
        seed: UInt64
    ) async throws {
        let executor = ManualExecutor(seed: seed)
        #expect(queue.trySend(0) == .enqueued)
        let producer = executor.spawnThrowing { [queue, clock] in
            try await queue.send(1, until: clock.now.advanced(by: .seconds(3)), clock: clock)
        }
        executor.runUntilIdle()
        let consumer = executor.spawn { [queue] in queue.tryDequeue() }
        clock.advance(by: .seconds(3))
        executor.runUntilIdle()

        #expect(await consumer.value == 0)
        let isSent = (try? await producer.value) == .enqueued
        #expect(queue.snapshot == (isSent ? [1] : []))
        #expect(clock.sleeperCount == 0)
    }
}
