import SluiceConcurrency

/// Two tasks that wake each other, with a new condition for each turn.
extension ConditionRows {
    static var pingPong: [Row] {
        [
            Row(
                "condition/ping-pong of two tasks", .perSecond("round trips"),
                against: "an event made of an AsyncStream",
                figure: .atLeast(1.2)
            ) { stage, rounds in
                let count = stage.count(50_000, quick: 10_000)
                try await rounds(
                    {
                        let (pings, pongs) = (conditions(count), conditions(count))
                        return try await play(count) {
                            pings[$0].signal.signal()
                        } awaitPing: {
                            await pings[$0].condition.wait()
                        } pong: {
                            pongs[$0].signal.signal()
                        } awaitPong: {
                            await pongs[$0].condition.wait()
                        }
                    },
                    {
                        let (pings, pongs) = (events(count), events(count))
                        return try await play(count) {
                            pings[$0].signal()
                        } awaitPing: {
                            await pings[$0].wait()
                        } pong: {
                            pongs[$0].signal()
                        } awaitPong: {
                            await pongs[$0].wait()
                        }
                    })
            }
        ]
    }

    private static func conditions(_ count: Int) -> [(condition: Condition, signal: Signal)] {
        (0..<count).map { _ in Condition.makeCondition() }
    }

    private static func events(_ count: Int) -> [StreamEvent] { (0..<count).map { _ in StreamEvent() } }

    private static func play(
        _ count: Int, ping: @escaping @Sendable (Int) -> Void, awaitPing: @escaping @Sendable (Int) async -> Void,
        pong: @escaping @Sendable (Int) -> Void, awaitPong: @escaping @Sendable (Int) async -> Void
    ) async throws -> Sample {
        try await timed(count, expecting: count) {
            async let other: Void = {
                for turn in 0..<count {
                    await awaitPing(turn)
                    pong(turn)
                }
            }()
            for turn in 0..<count {
                ping(turn)
                await awaitPong(turn)
            }
            await other
            return count
        }
    }
}
