/// One line of the table: Sluice and a named peer, timed in the same run.
///
///     Row("limiter/run", .nanoseconds, against: "CAS pair", figure: .atMost(3)) { stage, rounds in
///         let count = stage.count(1_000_000, quick: 100_000)
///         try await rounds(
///             { try await timed(count, expecting: count) { await ours(count) } },
///             { try await timed(count, expecting: count) { peer(count) } })
///     }
///
/// The body prepares both contenders, calls `rounds` once, and cleans up. Only the code in `timed` is timed. Each contender checks its
/// result.
struct Row {
    /// Times one contender once.
    typealias Contender = () async throws -> Sample
    /// Times both in turn, once per round.
    typealias Rounds = (_ ours: Contender, _ peer: Contender) async throws -> Void

    /// The group, a slash and the operation. `--filter` matches it.
    let name: String
    let unit: Unit
    let peer: String
    /// The figure that the design requires; nil if it requires none.
    let figure: Figure?
    /// How many times each contender is timed in a round. The round's result is the median. Use more than one slice if the operation takes
    /// less time than a time slice of the scheduler, so that one interruption doesn't distort a round.
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

/// A requirement of the design.
enum Figure: Sendable {
    /// The ratio of ours to the peer's is at most this. For times.
    case atMost(Double)
    /// The ratio of ours to the peer's is at least this. For rates.
    case atLeast(Double)
    /// Ours exceeds the peer's by at most this, in the row's unit.
    case atMostMore(Double)
    /// Ours is below this, in the row's unit, independent of the peer.
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
    /// A program outside the package is missing; the text names it and its source.
    case missing(String)
    /// A contender computed a wrong result.
    case wrongResult(String)
    /// A process that the row started is still running.
    case leftBehind(String)

    var description: String {
        switch self {
        case .missing(let what), .leftBehind(let what): what
        case .wrongResult(let what): "wrong result: \(what)"
        }
    }
}
