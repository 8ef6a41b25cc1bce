import AsyncAlgorithms
import SluiceConcurrency

/// A queue with a capacity of one, and producers that wait.
extension QueueRows {
    static var bounded: [Row] { [1, 4].map(againstChannel) }

    private static func againstChannel(_ each: Int) -> Row {
        Row(
            "queue/send, capacity 1, \(each) to \(each)", .perSecond("elements"),
            against: "AsyncChannel (a rendezvous)",
            figure: .atLeast(3)
        ) { stage, rounds in
            let count = stage.count(100_000, quick: 20_000) / each
            try await rounds(
                {
                    let queue = AsyncBoundedQueue<Int>(capacity: 1)
                    return try await exchange(each, count, consumers: each) {
                        _ = try? await queue.send($0)
                    } finish: {
                        queue.finish()
                    } take: {
                        await sum(queue.elements)
                    }
                },
                {
                    let channel = AsyncChannel<Int>()
                    return try await exchange(each, count, consumers: each) {
                        await channel.send($0)
                    } finish: {
                        channel.finish()
                    } take: {
                        await sum(channel)
                    }
                })
        }
    }
}
