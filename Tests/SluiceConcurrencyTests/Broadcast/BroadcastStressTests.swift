import SluiceConcurrency
import Testing
import TestSupport

@Suite struct `Broadcast: many tasks` {
    @Test(.timeLimit(.minutes(5)))
    func `with several senders each subscriber gets or misses each element, all in the same order`() async {
        let broadcast = Broadcast<Int, Never>()
        let (senders, each) = (3, 2_000)
        let bufferings: [Broadcast<Int, Never>.Buffering] = [.unbounded, .unbounded, .newest(16), .oldest(16)]
        let subscriptions = bufferings.map { broadcast.subscribe(buffering: $0) }

        let received = await withTaskGroup(of: (Int, [Int], missed: Int).self) { group in
            for (index, subscription) in subscriptions.enumerated() {
                group.addTask {
                    var (elements, missed): ([Int], Int) = ([], 0)
                    for await delivery in subscription {
                        switch delivery {
                        case .value(let element): elements.append(element)
                        case .missed(let count): missed += count
                        }
                    }
                    return (index, elements, missed)
                }
            }
            await withTaskGroup(of: Void.self) { group in
                for sender in 0..<senders {
                    group.addTask {
                        for number in 0..<each {
                            broadcast.send(sender * each + number)
                            if number.isMultiple(of: 10) { await suspendOnce() }
                        }
                    }
                }
            }
            broadcast.finish()
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }
        }

        let all = received[0].1
        #expect(all.sorted() == Array(0..<senders * each))
        #expect(received[1].1 == all)
        let position = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })
        for (_, elements, missed) in received {
            #expect(elements.count + missed == all.count)
            let positions = elements.compactMap { position[$0] }
            #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `subscribers that come and go at any moment get a part without a gap`() async {
        let broadcast = Broadcast<Int, Never>(replay: 3)
        // One element is sent for each that a subscriber is about to wait for.
        let wishes = AsyncQueue<Int>()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for round in 0..<150 {
                        var last: Int?
                        var taken = 0
                        let subscription = broadcast.subscribeUnbounded()
                        wishes.enqueue(worker)
                        for await number in subscription {
                            if let last, number != last + 1 { Issue.record("\(number) came after \(last)") }
                            last = number
                            taken += 1
                            if taken == 1 + (worker + round) % 7 { break }
                            wishes.enqueue(worker)
                        }
                    }
                }
            }
            let sending = Task {
                var number = 0
                for await _ in wishes.elements {
                    broadcast.send(number)
                    number += 1
                }
            }
            await group.waitForAll()
            wishes.finish()
            await sending.value
        }

        #expect(broadcast.subscriberCount == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `cancel racing send and finish resumes each subscriber once`() async {
        for round in 0..<2_000 {
            let broadcast = Broadcast<Int, Never>()
            let subscription = broadcast.subscribe()
            let cancelled = Task {
                for await _ in subscription {}
            }
            let other = Task { [subscription = broadcast.subscribeUnbounded()] in
                await subscription.reduce(0, +)
            }
            let canceller = Task { cancelled.cancel() }
            let sender = Task {
                broadcast.send(round)
                if round.isMultiple(of: 2) { broadcast.finish() }
            }
            await sender.value
            await canceller.value
            broadcast.finish()

            await cancelled.value
            #expect(await other.value == round)
        }
    }

    @Test(arguments: 1...50)
    func `any order of jobs delivers each element to each subscriber, or says that it is missing`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let executor = ManualExecutor(seed: seed)
        let broadcast = Broadcast<Int, Never>()
        let counted = (0..<5).map { _ in Recorder<Int>() }
        let bufferings: [Broadcast<Int, Never>.Buffering] = [
            .unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3),
        ]
        let tasks = zip(counted, bufferings).map { recorder, buffering in
            executor.spawn { [subscription = broadcast.subscribe(buffering: buffering)] in
                var next = 0
                for await delivery in subscription {
                    switch delivery {
                    case .value(let number):
                        recorder.note(number)
                        if number != next { Issue.record("seed \(seed): \(number) came in the place of \(next)") }
                        next += 1
                    case .missed(let count): next += count
                    }
                }
                recorder.note(-next)
            }
        }

        for number in 0..<100 {
            broadcast.send(number)
            for _ in 0..<Int.random(in: 0..<4, using: &random) { executor.runOne() }
            if number == 50 { tasks[Int(seed) % 5].cancel() }
        }
        broadcast.finish()
        executor.runUntilIdle()

        for (index, recorder) in counted.enumerated() where index != Int(seed) % 5 {
            #expect(recorder.values.last == -100)
        }
        #expect(broadcast.subscriberCount == 0)
    }
}
