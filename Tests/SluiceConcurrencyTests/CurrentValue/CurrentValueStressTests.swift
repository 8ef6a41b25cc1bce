import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `CurrentValue: many tasks` {
    @Test(.timeLimit(.minutes(5)))
    func `no update is lost, and all loops see the last value and never an older one`() async {
        let current = CurrentValue(0)
        let (writers, each) = (4, 3_000)

        let last = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var last = -1
                    for await value in current.values {
                        if value <= last { Issue.record("\(value) came after \(last)") }
                        last = value
                    }
                    return last
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<writers {
                    group.addTask {
                        for number in 0..<each {
                            current.update { $0 += 1 }
                            if number.isMultiple(of: 20) { await suspendOnce() }
                        }
                    }
                }
            }
            current.finish()
            return await group.reduce(into: []) { $0.append($1) }
        }

        #expect(last == Array(repeating: writers * each, count: 4))
    }

    @Test(.timeLimit(.minutes(5)))
    func `cancel racing a change ends the cancelled one and reaches the other`() async {
        for round in 1...2_000 {
            let current = CurrentValue(0)
            let cancelled = Task { for await _ in current.values {} }
            let other = Task { await current.values.first { $0 == round } }
            let canceller = Task { cancelled.cancel() }
            let writer = Task { current.value = round }
            await canceller.value
            await writer.value

            await cancelled.value
            #expect(await other.value == round)
        }
    }

    @Test(arguments: 1...50)
    func `any order of jobs ends with the last value seen by all that were not cancelled`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let current = CurrentValue(0)
        let recorders = (0..<5).map { _ in Recorder<Int>() }
        let tasks = recorders.map { recorder in
            executor.spawn { [values = current.values] in for await value in values { recorder.note(value) } }
        }

        for number in 1...100 {
            current.value = number
            for _ in 0..<Int.random(in: 0..<4, using: &random) { executor.runOne() }
            if number == 50 { tasks[Int(seed) % 5].cancel() }
        }
        current.finish()
        executor.runUntilIdle()

        for (index, recorder) in recorders.enumerated() {
            let seen = recorder.values
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
            if index != Int(seed) % 5 { #expect(seen.last == 100) }
        }
    }
}
