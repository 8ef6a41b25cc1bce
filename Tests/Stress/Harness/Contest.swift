import TestSupport

/// How a wait ended.
enum Ending: Hashable, Sendable {
    /// It got what it waited for.
    case served
    /// It gave up.
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

    /// Two scenarios of one contest: the waiter waits already, or comes while both act.
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
    /// All waiters wait; then two tasks go from contest to contest, one to serve and one to cancel.
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
