import SluiceDownloads
import TestSupport

@testable import SluiceDownloadList

/// The snapshots and errors that a test sends to a list, and the clock of that list. Each sleep of the list lasts until ``tick(after:)``.
final class SnapshotSource: AsyncSequence, Sendable {
    typealias Stream = AsyncThrowingStream<QueueSnapshot, any Error>

    /// Opens when the list stops reading before the end.
    let released = Gate()
    /// The sleeps of the list.
    let sleeps = Recorder<Duration>()
    private let start = ContinuousClock.now
    private let elapsed = Guarded(Duration.zero)
    /// The next iteration takes the first stream, which ends with an error unless it is the last one.
    private let streams = Guarded<[Stream]>([])
    private let current: Guarded<Stream.Continuation>
    private let ticks = AsyncStream<Void>.makeStream()

    init() {
        let (stream, continuation) = Stream.makeStream()
        current = Guarded(continuation)
        begin(stream, continuation)
    }

    var timing: ListTiming {
        ListTiming(
            now: { [start, elapsed] in start + elapsed.withLock { $0 } },
            sleep: { [sleeps, ticks] duration in
                sleeps.note(duration)
                for await _ in ticks.stream { break }
            })
    }

    @MainActor func list() -> DownloadList { DownloadList(self, timing: timing) }

    func makeAsyncIterator() -> Stream.AsyncIterator {
        streams.withLock { $0.removeFirst() }.makeAsyncIterator()
    }

    func send(_ snapshot: QueueSnapshot, after duration: Duration = .zero) {
        elapsed.withLock { $0 += duration }
        current.withLock { _ = $0.yield(snapshot) }
    }

    func fail(_ error: any Error) {
        let (stream, continuation) = Stream.makeStream()
        begin(stream, continuation)
        current.withLock { current in
            current.finish(throwing: error)
            current = continuation
        }
    }

    func tick(after duration: Duration) {
        elapsed.withLock { $0 += duration }
        ticks.continuation.yield()
    }

    private func begin(_ stream: Stream, _ continuation: Stream.Continuation) {
        continuation.onTermination = { [released] end in
            if case .cancelled = end { Task { await released.open() } }
        }
        streams.withLock { $0.append(stream) }
    }
}
