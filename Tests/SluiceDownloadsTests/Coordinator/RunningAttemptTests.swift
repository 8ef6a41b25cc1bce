import SluiceConcurrency
import Testing

@testable import SluiceDownloads

@Suite struct RunningAttemptTests {
    private func untilCancelled() async {
        let (never, _) = Condition.makeCondition()
        _ = try? await never.waitUnlessCancelled()
    }

    @Test func `cancelling an attempt cancels its worker's task, which takes no other attempt`() async {
        let worker = WorkerTask()
        let attempt = RunningAttempt(in: worker)
        let task = Task {
            await untilCancelled()
            return attempt.end()
        }
        worker.begin(task)
        attempt.cancel()
        #expect(await task.value)
    }

    @Test func `an attempt that has ended can't be cancelled, and its worker goes on`() async {
        let worker = WorkerTask()
        let first = RunningAttempt(in: worker)
        #expect(!first.end())
        first.cancel()
        let task = Task { Task.isCancelled }
        worker.begin(task)
        #expect(await !task.value)
    }

    @Test func `a cancellation before the worker has its task isn't lost`() async {
        let worker = WorkerTask()
        let attempt = RunningAttempt(in: worker)
        attempt.cancel()
        let task = Task {
            await untilCancelled()
            return Task.isCancelled
        }
        worker.begin(task)
        #expect(await task.value)
    }

    @Test func `any number of tasks wait for the end`() async {
        let attempt = RunningAttempt(in: WorkerTask())
        async let first: Void = attempt.untilEnded()
        async let second: Void = attempt.untilEnded()
        #expect(!attempt.end())
        _ = await (first, second)
        await attempt.untilEnded()
    }
}
