extension Broadcast {
    /// Sends each element of a sequence, and finishes as the sequence does.
    ///
    ///     let readings = Broadcast<Reading, any Error>()
    ///     let display = readings.subscribe()                      // subscribed before the first element comes
    ///     let archive = readings.subscribeUnbounded()
    ///     async let shown: Void = show(display)
    ///     async let archived: Void = write(archive)
    ///     await readings.run(sharing: sensor.readings)
    ///
    /// The calling task iterates the sequence, once, on its own isolation: no other task is started, so the sequence need
    /// not be `Sendable`, and ends with the task that runs it. Nothing is sent before this is called, so a receiver that
    /// wants all elements subscribes before.
    ///
    /// **Cancellation.** If the calling task is cancelled, the broadcast fails with `CancellationError` where `Failure`
    /// allows that, so that a part does not look like all; where it does not, it just ends.
    ///
    /// **Failure.** It does not throw: an error of the sequence goes to the subscribers.
    ///
    /// **End.** It returns when the sequence has ended, or at the next element after other code has finished the broadcast;
    /// but not because all subscribers have left.
    ///
    /// **Speed.** It does not wait for subscribers: one that is slower than the sequence misses elements. `shared()` waits.
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
