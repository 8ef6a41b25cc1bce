extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// One iteration of this sequence for any number of loops; the slowest loop sets the pace.
    ///
    ///     let readings = sensor.readings.shared()
    ///
    ///     async let shown: Void = { for try await reading in readings { show(reading) } }()
    ///     async let stored: Void = { for try await reading in readings { try await store(reading) } }()
    ///
    /// No element is lost: the sequence is asked for its next element when a loop wants one, and no loop is more than
    /// `buffer` elements ahead of the slowest. See ``SharedSequence``. Where the source must not wait for its receivers,
    /// use ``Broadcast``, which never waits and reports what a loop has missed.
    ///
    /// - Parameters:
    ///   - buffer: How many elements the fastest loop may be ahead of the slowest.
    ///   - replay: How many of the last elements a loop gets that starts later. With a `buffer` that isn't larger, the
    ///     fastest loop may be `replay + 1` elements ahead.
    /// - Precondition: `buffer` is at least 1, and `replay` is not negative.
    public func shared(buffer: Int = 1, replay: Int = 0) -> SharedSequence<Self> {
        SharedSequence(self, buffer: buffer, replay: replay)
    }
}
