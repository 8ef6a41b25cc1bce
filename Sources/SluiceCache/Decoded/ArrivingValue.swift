import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes the beginning of a response while the rest arrives, for one request. Decodes one part at a time, and skips parts that have been
/// replaced by longer ones in the meantime. Each part has half as many bytes again as the one before, so the parts together take a few times
/// as long as the whole.
final class ArrivingValue<Value: Sendable>: Sendable {
    private struct Part: Sendable {
        var data: Data
        var progress: ResourceProgress
    }

    private struct State {
        var waiting: Part?
        var nextSize: Int64 = 4 << 10
        var task: Task<Void, Never>?
        var hasEnded = false
    }

    private let state = Lock(State())
    private let decode: @Sendable (Data) -> Value?
    private let show: @Sendable (Value, ResourceProgress) -> Void

    init(
        _ decode: @escaping @Sendable (Data) -> Value?, show: @escaping @Sendable (Value, ResourceProgress) -> Void
    ) {
        self.decode = decode
        self.show = show
    }

    /// Takes the bytes so far. The whole value is decoded elsewhere.
    func note(_ data: Data, _ progress: ResourceProgress) {
        guard progress.receivedBytes != progress.totalBytes else { return }
        let replaced: Part? = state.withLock { state in
            guard !state.hasEnded, progress.receivedBytes >= state.nextSize else { return nil }
            state.nextSize = progress.receivedBytes + progress.receivedBytes / 2
            let replaced = state.waiting
            state.waiting = Part(data: data, progress: progress)
            // The task can't end before it is stored, because that takes the lock.
            if state.task == nil { state.task = Task { self.run() } }
            return replaced
        }
        _ = replaced
    }

    private func run() {
        while let part = next() {
            guard let value = decode(part.data) else { continue }
            show(value, part.progress)
        }
    }

    private func next() -> Part? {
        state.withLock { state in
            let part = state.hasEnded ? nil : state.waiting.take()
            if part == nil { state.task = nil }
            return part
        }
    }

    /// Waits until no part is decoded or shown anymore.
    func end() async {
        let (task, part) = state.withLock { state in
            state.hasEnded = true
            return (state.task, state.waiting.take())
        }
        _ = part
        await task?.value
    }
}
