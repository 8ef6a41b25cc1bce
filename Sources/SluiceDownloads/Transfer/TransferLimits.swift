import SluiceConcurrency
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Finds out whether a transfer is slower than a minimum rate.
///
/// Time is divided into quarters of the rate's period. At the end of each, the last four are compared with the rate, so a transfer that has
/// become too slow is found within five quarters.
struct RateWatch: Sendable {
    private struct Quarter: Sendable {
        var bytes: Int64 = 0
        /// The milliseconds for which the transfer waited because of a rate limit.
        var waited: Int64 = 0
    }

    private let bytesPerSecond: Double
    /// The length of a quarter in milliseconds.
    private let length: Double
    private var quarters: [Quarter] = []
    private var current = Quarter()
    /// The number of bytes of the file so far; `nil` before the response.
    private var position: Int64?
    /// Whether the response arrived during this quarter, which therefore doesn't count.
    private var isFirst = false

    init(_ minimum: DownloadCoordinator.MinimumRate) {
        bytesPerSecond = Double(minimum.bytesPerSecond)
        length = min(minimum.period, .seconds(4 * 86_400)) / .milliseconds(4)
    }

    /// A response contains bytes of the file from this position on.
    mutating func begin(at position: Int64) {
        if self.position == nil { isFirst = true }
        self.position = position
    }

    mutating func received(upTo bytes: Int64) {
        current.bytes += max(0, bytes - (position ?? bytes))
        position = bytes
    }

    mutating func waited(for milliseconds: Int64) { current.waited += milliseconds }

    /// Ends a quarter. Returns whether the transfer is too slow.
    mutating func endQuarter() -> Bool {
        defer { (current, isFirst) = (Quarter(), false) }
        guard position != nil, !isFirst else { return false }
        quarters.append(current)
        if quarters.count > 4 { quarters.removeFirst() }
        guard quarters.count == 4 else { return false }
        let bytes = quarters.reduce(0) { $0 + $1.bytes }
        let time = quarters.reduce(0) { $0 + max(0, length - Double($1.waited)) }
        return Double(bytes) < bytesPerSecond * time / 1000
    }
}

/// A ``RateWatch`` that a transfer and the task that watches it share.
final class SharedRateWatch: Sendable {
    private let watch: Lock<RateWatch>

    init(_ minimum: DownloadCoordinator.MinimumRate) { watch = Lock(RateWatch(minimum)) }

    func begin(at position: Int64) { watch.withLock { $0.begin(at: position) } }
    func received(upTo bytes: Int64) { watch.withLock { $0.received(upTo: bytes) } }
    func waited(for milliseconds: Int64) { watch.withLock { $0.waited(for: milliseconds) } }
    func endQuarter() -> Bool { watch.withLock { $0.endQuarter() } }
}

private enum WatchStep<Value: Sendable>: Sendable {
    case ended(Result<Value, any Error>)
    case tooSlow
    case unwatched
}

/// Runs a transfer that tells `watch` which bytes it receives, and stops it if it is too slow.
///
/// - Throws: `TransferError` with the code `tooSlow`; the errors of `body`.
func withMinimumRate<Value: Sendable>(
    _ minimum: DownloadCoordinator.MinimumRate?, clock: any Clock<Duration>, of url: URL,
    _ body: @escaping @Sendable (_ watch: SharedRateWatch?) async throws -> Value
) async throws -> Value {
    guard let minimum else { return try await body(nil) }
    let watch = SharedRateWatch(minimum)
    let quarter = min(minimum.period / 4, .seconds(86_400))
    return try await withThrowingTaskGroup(of: WatchStep<Value>.self) { group in
        group.addTask { .ended(await Result { try await body(watch) }) }
        group.addTask {
            while true {
                guard (try? await clock.sleep(for: quarter)) != nil else { return .unwatched }
                if watch.endQuarter() { return .tooSlow }
            }
        }
        var isTooSlow = false
        // A transfer keeps its partial file before it ends, so wait for it.
        while let step = try await group.next() {
            switch step {
            case .unwatched: continue
            case .tooSlow:
                isTooSlow = true
                group.cancelAll()
            case .ended(.failure(let error)) where isTooSlow && error is CancellationError && !Task.isCancelled:
                let seconds = minimum.period / .seconds(1)
                throw TransferError(
                    .tooSlow, url: url,
                    detail: "less than \(minimum.bytesPerSecond) bytes per second over \(seconds) s")
            case .ended(let result):
                group.cancelAll()
                return try result.get()
            }
        }
        throw CancellationError()
    }
}

/// Runs a transfer within a time limit.
///
/// - Throws: `TransferError` with the code `tookTooLong`; the errors of `body`.
func withTimeLimit<Value: Sendable>(
    _ limit: Duration?, clock: any Clock<Duration>, of url: URL, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    guard let limit else { return try await body() }
    func run(_ clock: some Clock<Duration>) async throws -> Value {
        try await withDeadline(until: clock.now.advanced(by: limit), clock: clock) { try await body() }
    }
    do {
        return try await run(clock)
    } catch let exceeded as DeadlineExceeded {
        if let cause = exceeded.cause, !(cause is CancellationError) || Task.isCancelled { throw cause }
        throw TransferError(.tookTooLong, url: url, detail: "more than \(limit / .seconds(1)) s")
    }
}
