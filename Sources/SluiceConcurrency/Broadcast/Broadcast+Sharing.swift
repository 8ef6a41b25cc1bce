extension Broadcast {
    /// Sends each element of a sequence, and finishes the broadcast when the sequence ends.
    ///
    ///     let readings = Broadcast<Reading, any Error>()
    ///     let display = readings.subscribe()                      // subscribed before the first element comes
    ///     let archive = readings.subscribeUnbounded()
    ///     async let shown: Void = show(display)
    ///     async let archived: Void = write(archive)
    ///     await readings.run(sharing: sensor.readings)
    ///
    /// The calling task iterates the sequence once, in its isolation. No task is started, so the sequence need not be `Sendable`. A
    /// receiver that needs all elements must subscribe before this method is called.
    ///
    /// The method returns when the sequence has ended, or at the next element after other code has finished the broadcast. It continues if
    /// all subscribers have left. It doesn't wait for slow subscribers, which miss elements; `shared()` waits.
    ///
    /// **Errors.** The method doesn't throw. An error of the sequence goes to the subscribers.
    ///
    /// **Cancellation.** If the calling task is cancelled and `Failure` allows it, the broadcast fails with `CancellationError`, so that
    /// subscribers don't mistake an incomplete sequence for a complete one. Otherwise the broadcast finishes without an error.
    @inlinable
    public func run<Source: AsyncSequence>(
        sharing sequence: Source
    ) async where Source.Element == Element, Source.Failure == Failure {
        var iterator = sequence.makeAsyncIterator()
        do throws(Failure) {
            while let element = try await iterator.next(isolation: #isolation) {
                if send(element) == .finished { return }
            }
            if Task.isCancelled, let error = CancellationError() as? Failure {
                finish(throwing: error)
            } else {
                finish()
            }
        } catch {
            finish(throwing: error)
        }
    }
}
