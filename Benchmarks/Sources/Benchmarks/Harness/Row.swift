/// One line of the table: something of ours beside a named peer, timed in the same run.
///
///     Row("limiter/run", .nanoseconds, against: "CAS pair", figure: .atMost(3)) { stage, rounds in
///         let count = stage.count(1_000_000, quick: 100_000)
///         try await rounds(
///             { try await timed(count, expecting: count) { await ours(count) } },
///             { try await timed(count, expecting: count) { peer(count) } })
///     }
///
/// The body prepares what both need, calls `rounds` once, and cleans up; only what `timed` encloses is
/// timed. Each contender checks what it computed.
struct Row {
    /// Times one contender once.
    typealias Contender = () async throws -> Sample
    /// Times both in turn, as often as the run says.
    typealias Rounds = (_ ours: Contender, _ peer: Contender) async throws -> Void

    /// `group/what is done`; ``BenchmarkCommand`` selects by it.
    let name: String
    let unit: Unit
    let peer: String
    /// What the design asks for; nil where it names none.
    let figure: Figure?
    /// How often the pair is timed in each round, of which the medians count. More than once for what takes less than a
    /// time slice of the scheduler's, so that one interruption does not spoil a round.
    let slices: Int
    let body: (Stage, Rounds) async throws -> Void

    init(
        _ name: String, _ unit: Unit, against peer: String, figure: Figure? = nil, slices: Int = 1,
        _ body: @escaping (Stage, Rounds) async throws -> Void
    ) {
        self.name = name
        self.unit = unit
        self.peer = peer
        self.figure = figure
        self.slices = slices
        self.body = body
    }
}

/// What the design asks of a row.
enum Figure: Sendable {
    /// The ratio of ours to the peer's is at most this: of times.
    case atMost(Double)
    /// The ratio of ours to the peer's is at least this: of rates.
    case atLeast(Double)
    /// Ours is no more than this above the peer's, in the row's unit.
    case atMostMore(Double)
    /// Ours is below this, in the row's unit, whatever the peer's is.
    case below(Double)

    func isMet(ours: Double, peer: Double, ratio: Double) -> Bool {
        switch self {
        case .atMost(let most): ratio <= most
        case .atLeast(let least): ratio >= least
        case .atMostMore(let more): ours - peer <= more
        case .below(let limit): ours < limit
        }
    }

    func text(in unit: Unit) -> String {
        switch self {
        case .atMost(let most): "≤ \(Format.number(most)) ×"
        case .atLeast(let least): "≥ \(Format.number(least)) ×"
        case .atMostMore(let more): "≤ +\(Format.number(more)) \(unit.label)"
        case .below(let limit): "< \(Format.number(limit)) \(unit.label)"
        }
    }
}

/// Why a row has no numbers.
enum RowFailure: Error, CustomStringConvertible {
    /// Something outside the package is missing; says what, and where it comes from.
    case missing(String)
    /// A contender computed something else than it should have.
    case wrongResult(String)
    /// A process that the row started is still there.
    case leftBehind(String)

    var description: String {
        switch self {
        case .missing(let what), .leftBehind(let what): what
        case .wrongResult(let what): "wrong result: \(what)"
        }
    }
}
