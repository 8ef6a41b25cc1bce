import SluiceConcurrency

/// One condition for each wait.
extension ConditionRows {
    static var waiting: [Row] {
        Home.allCases.map(signalledBefore) + [suspended]
    }

    /// One task creates, signals and awaits each condition, without suspending.
    private static func signalledBefore(in home: Home) -> Row {
        Row(
            "condition/signal, then wait, from \(home.rawValue)", .perSecond("waits"), against: peer,
            figure: .atLeast(2), slices: 25
        ) { stage, rounds in
            let count = stage.count(20_000, quick: 5_000)
            try await rounds(
                { try await home.run { try await timed(count, expecting: count) { await ours(count) } } },
                { try await home.run { try await timed(count, expecting: count) { await theirs(count) } } })
        }
    }

    /// A hundred tasks wait, each for a different condition, and then all conditions are signalled in order. Most of the time is the cost of
    /// waking a task, which is the same for both: raw continuations aren't faster than ours.
    private static var suspended: Row {
        Row("condition/wait, then signal", .perSecond("waits"), against: peer, figure: .atLeast(2)) { stage, rounds in
            let (count, total) = (100, stage.count(100_000, quick: 20_000))
            try await rounds(
                {
                    try await drain(count, total: total) {
                        let all = (0..<count).map { _ in Condition.makeCondition() }
                        let next = Turn()
                        return Crowd {
                            await all[next.take()].condition.wait()
                            return 1
                        } release: {
                            for one in all { one.signal.signal() }
                        }
                    }
                },
                {
                    try await drain(count, total: total) {
                        let all = (0..<count).map { _ in StreamEvent() }
                        let next = Turn()
                        return Crowd {
                            await all[next.take()].wait()
                            return 1
                        } release: {
                            for one in all { one.signal() }
                        }
                    }
                })
        }
    }

    private static let peer = "an event made of an AsyncStream"

    private static func ours(_ count: Int) async -> Int {
        var sum = 0
        for _ in 0..<count {
            let (condition, signal) = Condition.makeCondition()
            signal.signal()
            if await condition.wait() == .signalled { sum &+= 1 }
        }
        return sum
    }

    private static func theirs(_ count: Int) async -> Int {
        var sum = 0
        for _ in 0..<count {
            let event = StreamEvent()
            event.signal()
            await event.wait()
            sum &+= 1
        }
        return sum
    }
}
