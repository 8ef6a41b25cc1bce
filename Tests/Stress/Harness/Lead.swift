import TestSupport

/// The delay of one side of a race, so that either side wins often.
///
/// Two sides that act at the same moment are no race if the effect of one takes longer: the time that passes wakes a sleeping
/// task, and only that task grants the token, while cancelling takes effect immediately. How much longer it takes depends on
/// the machine and on what else runs there. The lead therefore follows what happens:
///
///     heat       first won    lead
///      1           2 of 256       64     the second side is held back by up to twice as many turns of a loop
///      2          11 of 256      128
///      3          90 of 256      128     both win: this is where the two meet
struct Lead: Sendable {
    /// The number of turns that the second side is delayed; negative for the first side.
    private(set) var turns = 0

    private static let least = 64
    /// A fifth of a millisecond or so.
    private static let most = 1 << 16

    /// Delays the side that won more than three of four rounds.
    mutating func adapt(firstWon: Int, secondWon: Int) {
        if firstWon * 3 < secondWon {
            turns = Self.next(turns)
        } else if secondWon * 3 < firstWon {
            turns = -Self.next(-turns)
        }
    }

    /// Twice as much to the one side, half as much on the other.
    private static func next(_ turns: Int) -> Int {
        if turns >= 0 { return min(most, max(least, turns * 2)) }
        return turns > -2 * least ? 0 : turns / 2
    }
}

/// The two sides of a race.
enum Side: UInt64, Sendable {
    case first, second
}

extension Heat {
    /// Delays a side by some random turns, and by the lead of the other side.
    func holdBack(_ side: Side, _ random: inout SeededRandom) async {
        delay(&random)
        let turns = side == .first ? -lead.turns : lead.turns
        guard turns > 0 else { return }
        for turn in 1...Int.random(in: 1...2 * turns, using: &random) {
            blackHole(turn)
            // Part of the race: tasks that the other side has started get a thread, even if no second processor is free.
            if turn.isMultiple(of: 1_024) { await Task.yield() }
        }
    }
}
