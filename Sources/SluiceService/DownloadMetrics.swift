import Metrics

/// The metrics of a service. They are created once, because a backend may lock and allocate for each new one.
struct DownloadMetrics: Sendable {
    let done: Counter
    let skipped: Counter
    let failed: Counter
    let cancelled: Counter
    let retries: Counter
    let receivedBytes: Counter
    let running: Meter
    let waiting: Meter
    let duration: Timer

    init(factory: any MetricsFactory) {
        func ended(_ outcome: String) -> Counter {
            Counter(label: "sluice.downloads.ended", dimensions: [("outcome", outcome)], factory: factory)
        }
        done = ended("done")
        skipped = ended("skipped")
        failed = ended("failed")
        cancelled = ended("cancelled")
        retries = Counter(label: "sluice.downloads.retries", factory: factory)
        receivedBytes = Counter(label: "sluice.downloads.received_bytes", factory: factory)
        running = Meter(label: "sluice.downloads.running", factory: factory)
        waiting = Meter(label: "sluice.downloads.waiting", factory: factory)
        duration = Timer(label: "sluice.downloads.duration", factory: factory)
    }
}
