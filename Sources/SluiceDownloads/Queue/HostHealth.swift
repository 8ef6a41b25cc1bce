/// What an attempt learned about its host.
package enum HostReport: Sendable, Hashable {
    /// The host answered.
    case reached
    /// The host asked us to send no requests for this long.
    case busy(for: Duration)
    /// The connection to the host failed. After `limit` such attempts in a row, its circuit opens for `pause`.
    case unreachable(limit: Int, pause: Duration)
}

/// What is known about a host that may be unhealthy, as a pure value. Times are in milliseconds.
package struct HostHealth: Sendable, Hashable {
    /// No job of the host is claimed before this time.
    var until: Int64
    /// The number of connections that failed in a row.
    var failures = 0
    /// Whether the circuit is open. After ``until``, one job at a time is claimed, until one reaches the host.
    var isOpen = false

    /// Returns what is known after a report, or `nil` if the host is healthy.
    static func after(_ report: HostReport, _ health: HostHealth?, now: Int64) -> HostHealth? {
        var health = health ?? HostHealth(until: now)
        switch report {
        case .reached: (health.failures, health.isOpen) = (0, false)
        case .busy(let time):
            (health.failures, health.isOpen) = (0, false)
            health.until = max(health.until, now + time.milliseconds)
        case .unreachable(let limit, let pause):
            // Another program may have stored any number.
            if health.failures < .max { health.failures += 1 }
            if health.failures >= limit {
                health.isOpen = true
                health.until = max(health.until, now + pause.milliseconds)
            }
        }
        return health.isWell(now: now) ? nil : health
    }

    func isWell(now: Int64) -> Bool { until <= now && failures == 0 && !isOpen }

    /// The number of jobs that may run, or `nil` if there is no limit.
    func limit(now: Int64) -> Int? { until > now ? 0 : isOpen ? 1 : nil }

    /// How long to keep a host's entry after its last report.
    package static let memory: Int64 = 86_400_000
}
