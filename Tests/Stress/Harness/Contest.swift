import TestSupport

/// How a wait ended.
enum Ending: Hashable, Sendable {
    /// The task got what it waited for.
    case served
    /// The task gave up.
    case cancelled
}

/// One waiter, one task that serves it, and one that cancels it.
struct Contest: Sendable {
    /// Waits, and returns the outcome; throws if the outcome isn't allowed.
    let wait: @Sendable () async throws -> Ending
    let serve: @Sendable () -> Void
    /// Replaces the cancellation of the waiter's task.
    let cancel: (@Sendable () -> Void)?
    /// Throws if something was lost or done twice.
    let check: @Sendable (Ending) async throws -> Void

    init(
        wait: @escaping @Sendable () async throws -> Ending, serve: @escaping @Sendable () -> Void,
        cancel: (@Sendable () -> Void)? = nil, check: @escaping @Sendable (Ending) async throws -> Void
    ) {
        self.wait = wait
        self.serve = serve
        self.cancel = cancel
        self.check = check
    }

    /// Two scenarios of one contest: the waiter is already waiting, or it arrives while both act.
    static func scenarios(
        _ name: String, claim: String, sides: (String, String) = ("served", "cancelled"),
        _ make: @escaping @Sendable () async -> Contest
    ) -> [Scenario] {
        [
            Scenario("\(name), suspended", claim: claim, sides: sides) { heat in
                try await heat.suspended(make)
            },
            Scenario("\(name), entering", claim: claim, sides: sides) { heat in
                try await heat.entering(make)
            },
        ]
    }
}

extension Heat {
    /// Once all waiters wait, two tasks go from contest to contest: one serves, and one cancels.
    func suspended(_ make: @Sendable () async -> Contest) async throws {
        let arrived = Counter()
        var contests: [Contest] = []
        var waiters: [Task<Ending, any Error>] = []
        for _ in 0..<rounds {
            let contest = await make()
            contests.append(contest)
            waiters.append(waiter(contest) { arrived.add() })
        }
        await spin { arrived.value == rounds }
        let (all, tasks) = (contests, waiters)
        await race({ all[$0].serve() }, against: { all[$0].cancel.map { $0() } ?? tasks[$0].cancel() })
        for (contest, task) in zip(all, tasks) { try await settle(contest, task) }
        try claim(ended.value == rounds, "\(ended.value) waits ended of \(rounds)")
    }

    /// The waiter is about to wait when it is served and cancelled, in random order.
    func entering(_ make: @Sendable () async -> Contest) async throws {
        var random = SeededRandom(seed: seed)
        var found = true
        for round in 0..<rounds {
            let contest = await make()
            let patience = patience(round, found: found)
            let before = sideBySide.value
            let task = waiter(contest) {
                self.firstAt.add()
                self.linedUp.add()
                var turns = 0
                while self.secondAt.value <= round, turns < patience { turns += 1 }
                if turns < patience { self.sideBySide.add() }
            }
            await spin(patience: patience) { firstAt.value > round }
            secondAt.add()
            let cancel = contest.cancel ?? { task.cancel() }
            let servesFirst = random.next().isMultiple(of: 2)
            delay(&random)
            servesFirst ? contest.serve() : cancel()
            await holdBack(servesFirst ? .second : .first, &random)
            servesFirst ? cancel() : contest.serve()
            try await settle(contest, task)
            found = sideBySide.value > before
        }
        try claim(ended.value == rounds, "\(ended.value) waits ended of \(rounds)")
    }

    private func waiter(_ contest: Contest, _ arrive: @escaping @Sendable () -> Void) -> Task<Ending, any Error> {
        Task {
            arrive()
            let ending = try await contest.wait()
            // A waiter that is resumed twice gets here twice, unless it crashes.
            self.ended.add()
            return ending
        }
    }

    private func settle(_ contest: Contest, _ task: Task<Ending, any Error>) async throws {
        let ending = try await task.value
        try await contest.check(ending)
        (ending == .served ? firstWon : secondWon).add()
    }
}

// MARK: - The lead of one side

/// The delay of one side of a race, so that either side wins often.
///
/// If both sides start at the same moment, but one takes longer to have an effect, the other always wins. For example, when time passes,
/// a sleeping task must wake before it grants the token, but a cancellation takes effect immediately. The difference depends on the machine
/// and its load, so the lead adapts to the results:
///
///     heat       first won    lead
///      1           2 of 256       64     the second side is delayed by up to twice as many turns of a loop
///      2          11 of 256      128
///      3          90 of 256      128     both win: this is where the two meet
struct Lead: Sendable {
    /// The number of turns by which the second side is delayed. Negative if the first side is.
    private(set) var turns = 0

    private static let least = 64
    /// About 0.2 ms.
    private static let most = 1 << 16

    /// Delays the side that won more than three out of four rounds.
    mutating func adapt(firstWon: Int, secondWon: Int) {
        if firstWon * 3 < secondWon {
            turns = Self.next(turns)
        } else if secondWon * 3 < firstWon {
            turns = -Self.next(-turns)
        }
    }

    /// Doubles the delay of the second side, or halves that of the first.
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
            // Part of the race: gives a thread to tasks that the other side has started, even if no second processor is free.
            if turn.isMultiple(of: 1_024) { await Task.yield() }
        }
    }
}
