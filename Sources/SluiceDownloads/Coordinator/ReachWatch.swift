import SluiceHTTP

/// What the attempts of a run have learned about their hosts and the network, as a pure value. Times are in milliseconds.
///
/// The store counts failed connections for all workers (``HostHealth``), and decides when a host's jobs start. This value decides what
/// failures mean for the jobs of this run:
///
/// ```text
/// failed connection ── the first of the host ─────────────▶ the attempt counts
///                   ── more than open its circuit ────────▶ the job waits for the host, without a failed attempt
///                   ── for longer than the patience ──────▶ the host is given up: its jobs fail without a connection for a while
/// no sign of a host ── of several hosts in a row ─────────▶ the job waits for the network, and no host is blamed; others are tried first
/// ```
struct ReachWatch {
    enum Verdict: Equatable {
        /// The failure counts against this job and its host.
        case counts
        case waitsForHost
        case givesUp
        case waitsForNetwork(Int64)
        /// The run had no network for too long.
        case endsRun

        var isOfNetwork: Bool {
            switch self {
            case .waitsForNetwork, .endsRun: true
            case .counts, .waitsForHost, .givesUp: false
            }
        }
    }

    struct Rules {
        var breaker: DownloadCoordinator.CircuitBreaker?
        /// Whether the run waits for the network. It doesn't if a caller is waiting for a list.
        var waitsForNetwork = true
        /// Whether the run ends after ``networkPatience`` without a network. A run that ends only when it is cancelled doesn't.
        var endsWithoutNetwork = false
    }

    private struct Unreachable {
        var since: Int64
        var failures = 0
    }

    /// A host that gets no attempts until a given time, and the error that its jobs fail with.
    private struct Refusal {
        var until: Int64
        var error: TransferError
    }

    /// After no sign of this many hosts in a row, the network is presumed to be gone.
    static let silentHosts = 2
    private static let minimumPause: Int64 = 1000
    private static let maximumPause: Int64 = 30_000
    static let networkPatience: Int64 = 3_600_000

    var rules: Rules
    private var unreachable: [String: Unreachable] = [:]
    private var refusals: [String: Refusal] = [:]
    /// The hosts that have been silent since any host last responded.
    private var silent: Set<String> = []
    private var offlineSince: Int64?
    private var pause = Self.minimumPause
    /// The time of the next attempt while there is no network.
    private(set) var nextTry: Int64?
    /// Whether the next attempt goes to a host that hasn't been silent. Otherwise the first job in the queue would be tried over and over,
    /// even if other hosts can be reached.
    private var triesOthers = false

    init(_ rules: Rules) { self.rules = rules }

    mutating func noteReached(_ host: String) {
        if !unreachable.isEmpty { unreachable[host] = nil }
        if !refusals.isEmpty { refusals[host] = nil }
        noteNetwork()
    }

    private mutating func noteNetwork() {
        guard !silent.isEmpty else { return }
        silent = []
        (offlineSince, nextTry, pause, triesOthers) = (nil, nil, Self.minimumPause, false)
    }

    /// - Parameter isSilent: Whether there was no sign of the host.
    mutating func noteFailure(of host: String, isSilent: Bool, _ error: TransferError, now: Int64) -> Verdict {
        if !isSilent {
            noteNetwork()
        } else if rules.waitsForNetwork {
            silent.insert(host)
            if silent.count >= Self.silentHosts { return noteNoNetwork(now: now) }
        }
        guard error.isConnectionFailure, let breaker = rules.breaker else { return .counts }
        var known = unreachable[host] ?? Unreachable(since: now)
        known.failures += 1
        unreachable[host] = known
        if known.failures <= breaker.maximumFailures { return .counts }
        if now - known.since < breaker.patience.milliseconds { return .waitsForHost }
        refuse(host, with: error, until: now + breaker.pause.milliseconds)
        return .givesUp
    }

    private mutating func noteNoNetwork(now: Int64) -> Verdict {
        let since = offlineSince ?? now
        if offlineSince == nil { (offlineSince, nextTry) = (now, now + pause) }
        triesOthers = true
        if rules.endsWithoutNetwork, now - since >= Self.networkPatience { return .endsRun }
        return .waitsForNetwork(max(0, (nextTry ?? now) - now))
    }

    /// Returns how many of `room` jobs may be claimed. Without a network, that is one job after each pause.
    mutating func room(_ room: Int, now: Int64) -> Int {
        guard let next = nextTry else { return room }
        guard room > 0, now >= next else { return 0 }
        pause = min(pause * 2, Self.maximumPause)
        nextTry = now + pause
        return 1
    }

    /// The hosts whose jobs may not be claimed.
    var avoided: Set<String> { nextTry != nil && triesOthers ? silent : [] }

    /// Only silent hosts have jobs, so try one of them now.
    mutating func noteNoOtherHost(now: Int64) {
        guard nextTry != nil, triesOthers else { return }
        // The next attempt doubles the pause again.
        (triesOthers, nextTry, pause) = (false, now, max(Self.minimumPause, pause / 2))
    }

    /// Forgets the failures of a host that other workers reach.
    mutating func withdraw(_ host: String) { (unreachable[host], refusals[host]) = (nil, nil) }

    // MARK: Hosts that get no request

    mutating func refuse(_ host: String, with error: TransferError, until: Int64) {
        refusals[host] = Refusal(until: until, error: error)
    }

    /// The error that a job of the host fails with, without a request.
    func refusal(of host: String, now: Int64) -> TransferError? {
        guard let refusal = refusals[host], now < refusal.until else { return nil }
        return refusal.error
    }
}
