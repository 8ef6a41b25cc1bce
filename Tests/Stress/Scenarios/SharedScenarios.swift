import SluiceConcurrency
import TestSupport

enum SharedScenarios {
    static var all: [Scenario] { element + end }

    /// An element comes while one of two loops is cancelled.
    private static var element: [Scenario] {
        Contest.scenarios(
            "shared/element against cancel", claim: "the other loop gets the element; no loop is left behind",
            sides: ("received", "cancelled")
        ) {
            let (base, source) = AsyncStream<Int>.makeStream()
            let shared = base.shared()
            let other = await startedLoop(of: shared)
            return Contest(
                wait: { await receive(shared) ? .served : .cancelled },
                serve: { source.yield(7) },
                check: { _ in
                    try claim(await other.value, "the other loop got nothing")
                    await spin { shared.loopCount == 0 }
                })
        }
    }

    /// The base ends while one of two loops is cancelled.
    private static var end: [Scenario] {
        Contest.scenarios(
            "shared/end against cancel", claim: "both loops end, with nothing received", sides: ("ended", "ended")
        ) {
            let (base, source) = AsyncStream<Int>.makeStream()
            let shared = base.shared()
            let other = await startedLoop(of: shared)
            return Contest(
                wait: {
                    try claim(await !receive(shared), "an element from nowhere")
                    return Task.isCancelled ? .cancelled : .served
                },
                serve: { source.finish() },
                check: { _ in
                    try claim(await !other.value, "the other loop got an element from nowhere")
                    await spin { shared.loopCount == 0 }
                })
        }
    }

    private static func startedLoop(of shared: SharedSequence<AsyncStream<Int>>) async -> Task<Bool, Never> {
        let loop = Task { await receive(shared) }
        await spin { shared.loopCount == 1 }
        return loop
    }

    /// Whether a loop over the sequence gets a 7 before its end.
    private static func receive(_ shared: SharedSequence<AsyncStream<Int>>) async -> Bool {
        for await value in shared where value == 7 { return true }
        return false
    }
}
