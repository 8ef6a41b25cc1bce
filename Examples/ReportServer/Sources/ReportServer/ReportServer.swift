import SluiceConcurrency
import Synchronization

struct Request: Sendable {
    var user: String
    var api: String
    var report: String
}

struct Response: Sendable, Hashable {
    var status: Int
    var body: String
}

struct Report: Sendable, Hashable {
    var user: String
    var name: String
}

/// Renders reports for the requests of an HTTP server.
final class ReportServer: Sendable {
    private let rates: [String: RateLimiter<ContinuousClock>]
    private let places = KeyedLimiter<String>(perKey: 2, total: 16)
    private let flights = SingleFlight<Report, Report>()
    private let finished = Broadcast<Report, Never>()
    private let acceptsRequests = Mutex(true)
    let gauge = Gauge()

    /// Creates a server with the number of requests per second for each API.
    init(rates: [String: Int]) {
        self.rates = rates.mapValues { RateLimiter(rate: $0, per: .seconds(1), burst: max(1, $0 / 4)) }
    }

    /// Subscribes to the reports that are finished from now on. A slow subscriber receives the number of reports that it missed.
    func subscribe() -> Broadcast<Report, Never>.Subscription {
        finished.subscribe(buffering: .newest(64))
    }

    func handle(_ request: Request) async throws -> Response {
        guard acceptsRequests.withLock({ $0 }) else { return Response(status: 503, body: "shutting down") }
        guard let rate = rates[request.api] else { return Response(status: 404, body: "no such API") }
        do {
            try await rate.consume(timeout: .milliseconds(300))
        } catch is DeadlineExceeded {
            return Response(status: 429, body: "too many requests")
        } catch  where !Task.isCancelled {
            return Response(status: 503, body: "shutting down")  // shutDown() ended the wait
        }
        do {
            let report = try await withDeadline(timeout: .milliseconds(500)) {
                try await self.report(request.report, for: request.user)
            }
            return Response(status: 200, body: report.name)
        } catch is DeadlineExceeded {
            return Response(status: 503, body: "try again later")
        } catch is CancellationError where !Task.isCancelled {
            return Response(status: 503, body: "shutting down")
        }
    }

    /// Renders a report, or waits for a task that is already rendering the same report.
    private func report(_ name: String, for user: String) async throws -> Report {
        try await flights.run(for: Report(user: user, name: name)) { [self] in
            // The task that renders takes a place. Tasks that wait for it don't.
            try await places.run(for: user) {
                let report = try await gauge.measure(user) { try await render(name, for: user) }
                finished.send(report)
                return report
            }
        }
    }

    private func render(_ name: String, for user: String) async throws -> Report {
        try await Task.sleep(for: .milliseconds(30))
        return Report(user: user, name: name)
    }

    /// Refuses new requests, gives the running ones some time to finish, cancels the ones that take longer, and ends the subscriptions.
    ///
    /// - Parameter requests: The task that handles the requests.
    func shutDown(cancelling requests: Task<Void, Never>) async {
        acceptsRequests.withLock { $0 = false }
        for rate in rates.values { rate.cancelWaiting() }
        places.cancelWaiting()
        do {
            try await places.waitUntilIdle(timeout: .seconds(4))
        } catch {
            requests.cancel()
            await places.waitUntilIdle()
        }
        await requests.value
        finished.finish()
    }
}

/// Counts concurrent renderings.
final class Gauge: Sendable {
    struct Counts: Sendable {
        var running: [String: Int] = [:]
        var maximumPerUser = 0
        var maximum = 0
        var renderings = 0
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func measure<R>(_ user: String, _ body: () async throws -> R) async rethrows -> R {
        state.withLock { counts in
            counts.running[user, default: 0] += 1
            counts.maximumPerUser = max(counts.maximumPerUser, counts.running[user, default: 0])
            counts.maximum = max(counts.maximum, counts.running.values.reduce(0, +))
        }
        defer { state.withLock { $0.running[user, default: 0] -= 1 } }
        let result = try await body()
        state.withLock { $0.renderings += 1 }  // not those that failed or were cancelled
        return result
    }
}
