import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What all open pages follow: one task reads the queue's events for all of them, as long as there are any.
final class PageFeed: Sendable {
    /// What has happened since the update before.
    struct Update: Sendable {
        var events: [QueueEvent]
        var counts: [QueuedDownload.State: Int]
        var cursor: QueueEvent.Cursor
        /// Why the queue can't be read.
        var problem: String?
    }

    /// An update and its text, which is encoded once for all followers.
    private struct Shared: Sendable {
        var update: Update
        var text: Data

        init(_ update: Update) {
            self.update = update
            text = PageFeed.text(of: update)
        }

        /// The text for a client that already has the events up to `last`.
        func text(after last: QueueEvent.Cursor?) -> Data {
            guard let last, let first = update.events.first, first.id <= last else { return text }
            var rest = update
            rest.events.removeAll { $0.id <= last }
            return PageFeed.text(of: rest)
        }
    }

    private struct State {
        var followers = 0
        var task: Task<Void, Never>?
    }

    /// The least time between two updates.
    static let pace = Duration.milliseconds(250)
    /// A stream without updates sends a comment, so that proxies don't close it.
    private static let silence = Duration.seconds(15)
    static let maximumFollowers = 500

    private let downloads: DownloadCoordinator
    private let updates = Broadcast<Shared, Never>()
    private let state = Lock(State())

    init(_ downloads: DownloadCoordinator) { self.downloads = downloads }

    // MARK: Rates

    private struct Sample {
        var bytes: Int64
        var time: ContinuousClock.Instant
        var rate: Double?
    }

    private let samples = Lock<[QueuedDownload.ID: Sample]>([:])

    /// The bytes per second of running downloads, from what this page has seen of them. Workers on other machines report every few seconds.
    func rates(of listed: [ListedDownload]) -> [QueuedDownload.ID: Double] {
        let now = ContinuousClock.now
        return samples.withLock { samples in
            if samples.count > 10_000 { samples = samples.filter { now - $0.value.time < .seconds(60) } }
            var rates: [QueuedDownload.ID: Double] = [:]
            for one in listed where one.download.state == .running {
                let (id, bytes) = (one.download.id, one.receivedBytes ?? 0)
                var sample = samples[id] ?? Sample(bytes: bytes, time: now)
                let seconds = (now - sample.time) / .seconds(1)
                if bytes < sample.bytes || seconds > 20 {
                    sample = Sample(bytes: bytes, time: now)
                } else if bytes > sample.bytes, seconds > 0.2 {
                    let rate = Double(bytes - sample.bytes) / seconds
                    sample = Sample(bytes: bytes, time: now, rate: sample.rate.map { ($0 + rate) / 2 } ?? rate)
                }
                samples[id] = sample
                rates[id] = sample.rate
            }
            return rates
        }
    }

    // MARK: The updates

    private func begin() -> Bool {
        state.withLock { state in
            guard state.followers < Self.maximumFollowers else { return false }
            state.followers += 1
            if state.task == nil { state.task = Task { await self.run() } }
            return true
        }
    }

    private func end() {
        let task = state.withLock { state in
            state.followers -= 1
            return state.followers == 0 ? state.task.take() : nil
        }
        task?.cancel()
    }

    private func run() async {
        var cursor: QueueEvent.Cursor?
        var last: Update?
        while !Task.isCancelled {
            do {
                let events = try await downloads.nextEvents(after: cursor, timeout: .seconds(1))
                let snapshot = try await downloads.snapshot(listing: 0)
                cursor = events.last?.id ?? cursor ?? snapshot.cursor
                let update = Update(events: events, counts: snapshot.counts, cursor: cursor ?? snapshot.cursor)
                // The progress of running downloads is no event.
                if !events.isEmpty || snapshot.count(in: .running) > 0 || update.counts != last?.counts {
                    updates.send(Shared(update))
                }
                last = update
                try await Task.sleep(for: Self.pace)
            } catch let error as QueueStoreError {
                if error.code == .eventsRemoved { cursor = nil }
                last = nil
                updates.send(
                    Shared(
                        Update(
                            events: [], counts: [:], cursor: cursor ?? .init(rawValue: 0),
                            problem: Redaction().redacted("\(error)"))))
                try? await Task.sleep(for: .seconds(2))
            } catch {
                return
            }
        }
    }

    // MARK: The streams

    /// Server-sent events (HTML Standard, section 9.2): `change` with the counts and the events, first as they are now; `problem` if the queue
    /// can't be read.
    ///
    /// - Parameter cursor: The last event that the client has. The events after it come first; if they have been removed, `reset` says so.
    /// - Returns: `nil` if too many clients follow.
    func stream(after cursor: QueueEvent.Cursor?) -> AsyncThrowingStream<Data, any Error>? {
        guard begin() else { return nil }
        let subscription = updates.subscribe(buffering: .newest(8))
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Data.self, bufferingPolicy: .bufferingNewest(16))
        let task = Task {
            defer { end() }
            continuation.yield(Data("retry: 2000\n\n".utf8))
            var last = cursor
            do {
                let now = try await current(after: cursor)
                last = now.cursor
                continuation.yield(Self.text(of: now))
            } catch let error as QueueStoreError where error.code == .eventsRemoved {
                continuation.yield(Data("event: reset\ndata: {}\n\n".utf8))
            } catch {
                // The feed reports it.
            }
            // It is cancelled when the loop ends.
            async let _ = Self.ping(continuation)
            for await delivery in subscription {
                // After a gap, the client reconnects and continues where it was.
                guard case .value(let shared) = delivery else { break }
                if case .dropped = continuation.yield(shared.text(after: last)) { break }
                last = max(last ?? shared.update.cursor, shared.update.cursor)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// The counts, and the events after a cursor. There can't be many: a client that was away for longer than the queue keeps events starts
    /// again.
    private func current(after cursor: QueueEvent.Cursor?) async throws -> Update {
        let snapshot = try await downloads.snapshot(listing: 0)
        var update = Update(events: [], counts: snapshot.counts, cursor: snapshot.cursor)
        guard var last = cursor else { return update }
        while case let page = try await downloads.nextEvents(after: last, timeout: .zero), let end = page.last?.id {
            update.events += page
            last = end
        }
        update.cursor = max(update.cursor, last)
        return update
    }

    private static func ping(_ continuation: AsyncThrowingStream<Data, any Error>.Continuation) async {
        while (try? await Task.sleep(for: silence)) != nil { continuation.yield(Data(": still here\n\n".utf8)) }
    }

    private struct Text: Encodable {
        var counts: [String: Int]
        var cursor: Int64
        var events: [QueueEvent]
    }

    private static func text(of update: Update) -> Data {
        // JSON escapes line ends, so each document is one line.
        if let problem = update.problem {
            let data = PageValues.json(PageValues.Problem(status: 503, message: problem))
            return Data("event: problem\ndata: ".utf8) + data + Data("\n\n".utf8)
        }
        let text = Text(
            counts: Dictionary(
                uniqueKeysWithValues: QueuedDownload.State.allCases.map { ($0.rawValue, update.counts[$0] ?? 0) }),
            cursor: update.cursor.rawValue, events: update.events.map(\.redacted))
        return Data("id: \(update.cursor)\nevent: change\ndata: ".utf8) + PageValues.json(text) + Data("\n\n".utf8)
    }
}

// MARK: - Equal requests

/// Answers that many pages ask for at the same time.
final class PageCache<Value: Sendable>: Sendable {
    private let age: Duration
    private let flights = SingleFlight<String, Value>()
    private let kept = Lock<[String: (value: Value, until: ContinuousClock.Instant)]>([:])

    /// - Parameter age: How long an answer is kept.
    init(age: Duration) { self.age = age }

    func value(for key: String, _ make: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let found = kept.withLock({ $0[key] }), found.until > .now { return found.value }
        return try await flights.run(for: key) { [self] in
            let value = try await make()
            let now = ContinuousClock.now
            kept.withLock { kept in
                kept = kept.filter { $0.value.until > now }
                kept[key] = (value, now + age)
            }
            return value
        }
    }

    /// After a change, the answers are out of date.
    func forget() { kept.withLock { $0 = [:] } }
}
