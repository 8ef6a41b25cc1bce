import UnixSignals

/// Stops work when the user asks for it: Ctrl-C (SIGINT), or SIGTERM.
///
/// The first signal cancels the work, which then ends cleanly; the second ends the process at once.
struct Interruption: Sendable {
    /// Called on the first signal, to tell the user that it was heard.
    var onFirst: @Sendable () async -> Void
    /// Called on the second signal; does not return in a real process.
    var onSecond: @Sendable () -> Void

    /// Runs `work`, cancelled by the first signal, and returns its result and whether there was one.
    func guarding<Result: Sendable>(
        _ work: @escaping @Sendable () async -> Result
    ) async -> (result: Result, wasInterrupted: Bool) {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return await guarding(signals: signals.map { _ in }, work)
    }

    /// The same for any sequence of requests to stop.
    func guarding<Result: Sendable, Signals: AsyncSequence<Void, Never> & Sendable>(
        signals: Signals, _ work: @escaping @Sendable () async -> Result
    ) async -> (result: Result, wasInterrupted: Bool) {
        let task = Task { await work() }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                var count = 0
                for await _ in signals {
                    count += 1
                    if count == 1 {
                        task.cancel()
                        await onFirst()
                    } else {
                        onSecond()
                    }
                }
                return count > 0
            }
            let result = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            group.cancelAll()
            return (result, await group.next() ?? false)
        }
    }
}
