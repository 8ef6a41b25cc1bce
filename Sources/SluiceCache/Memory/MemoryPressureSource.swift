#if canImport(Darwin)
import Dispatch

/// Trims the memory of a cache when the system reports memory pressure.
final class MemoryPressureSource: Sendable {
    // Dispatch sources may be used from any thread. There is one for each level, so no handler needs to read its source.
    private nonisolated(unsafe) let sources: [any DispatchSourceMemoryPressure]

    init(_ trim: @escaping @Sendable (Double) -> Void) {
        let levels: [(DispatchSource.MemoryPressureEvent, Double)] = [(.warning, 0.25), (.critical, 0)]
        sources = levels.map { event, fraction in
            let source = DispatchSource.makeMemoryPressureSource(eventMask: event, queue: .global())
            source.setEventHandler { trim(fraction) }
            source.activate()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }
}
#endif
