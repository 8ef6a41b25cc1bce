extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Returns a sequence that any number of loops share, with one iteration of this sequence. The slowest loop sets the pace.
    ///
    ///     let readings = sensor.readings.shared()
    ///
    ///     async let shown: Void = { for try await reading in readings { show(reading) } }()
    ///     async let stored: Void = { for try await reading in readings { try await store(reading) } }()
    ///
    /// No element is lost. See ``SharedSequence``. If the source must not wait for its receivers, use ``Broadcast``, which reports the
    /// number of missed elements.
    ///
    /// - Parameters:
    ///   - buffer: The maximum number of elements that the fastest loop may be ahead of the slowest.
    ///   - replay: The number of last elements that a loop receives if it starts later. If `buffer` isn't larger, the fastest loop may be
    ///     `replay + 1` elements ahead.
    /// - Precondition: `buffer` is at least 1, and `replay` isn't negative.
    public func shared(buffer: Int = 1, replay: Int = 0) -> SharedSequence<Self> {
        SharedSequence(self, buffer: buffer, replay: replay)
    }
}
