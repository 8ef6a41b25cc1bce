/// What the program was told.
struct Options: Sendable {
    var rounds = 10_000
    var seed = UInt64.random(in: 1...999_999)
    var filters: [String] = []
    /// Seconds without a step after which a scenario counts as hung.
    var stall = 60
    var wantsList = false
    var wantsHelp = false
    /// A fault put in on purpose, to see that it is found; nil for the real scenarios.
    var fault: String?

    static let help = """
        Races the types of SluiceConcurrency against each other on all processors, and checks each round.

            Scripts/stress.sh                                  every scenario, 10,000 rounds each: a minute, as CI does it
            Scripts/stress.sh --rounds 200000                  minutes
            Scripts/stress.sh --filter queue/ --rounds 2000000
            Scripts/stress.sh --seed 42 --filter 'limiter/release against cancel'

        --rounds N      how many rounds of each scenario, 10,000 by default; those about memory cancel 5 times as many waiters
        --seed S        what the random choices come from (delays, orders); by default another one each time. The same seed
                        makes the same choices; which side wins a race still depends on the machine, and a side that wins
                        too often is held back in later rounds
        --filter TEXT   only scenarios whose name contains this; may be given several times
        --stall N       seconds without a step after which a scenario counts as hung, 60 by default
        --list          the scenarios and what each round checks
        --fault NAME    a fault put in on purpose instead: race (for ThreadSanitizer), lost, doubled, oneway,
                        hang

        Most scenarios are contests: a waiter, and two sides that end its wait, each in a different way, at the same moment.
        "suspended" means that the waiter waits already; "entering" that it comes while both act. The table shows how
        often each side won, and how often ("at once") both racers were there on two threads at the same moment; the less free
        the processors, the less. A scenario of 10,000 rounds or more that only ever went one way has raced nothing and counts
        as failed, also on a busy machine.

        It ends with 1 if a round broke what is claimed, and is aborted with a report if a scenario hangs. A crash shows in
        which row it was.
        """

    init(_ arguments: some Sequence<String>) throws(UsageError) {
        var rest = Array(arguments)[...]
        while let option = rest.popFirst() {
            switch option {
            case "--help", "-h": wantsHelp = true
            case "--list": wantsList = true
            case "--rounds": rounds = try Self.number(option, rest.popFirst(), 1...)
            case "--seed": seed = UInt64(try Self.number(option, rest.popFirst(), 0...))
            case "--stall": stall = try Self.number(option, rest.popFirst(), 1...)
            case "--filter": filters.append(try Self.text(option, rest.popFirst()))
            case "--fault": fault = try Self.text(option, rest.popFirst())
            default: throw UsageError(description: "\(option): there is no such option.")
            }
        }
    }

    /// The scenarios to run: faults only where one is asked for.
    func select(from scenarios: [Scenario]) -> [Scenario] {
        if let fault { return Catalogue.faults.filter { $0.name == "fault/\(fault)" } }
        return scenarios.filter { scenario in filters.isEmpty || filters.contains { scenario.name.contains($0) } }
    }

    private static func text(_ option: String, _ value: String?) throws(UsageError) -> String {
        guard let value else { throw UsageError(description: "\(option) needs a value.") }
        return value
    }

    private static func number(
        _ option: String, _ value: String?, _ range: PartialRangeFrom<Int>
    ) throws(UsageError) -> Int {
        let text = try text(option, value)
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(description: "\(option) \(text): must be a number of at least \(range.lowerBound).")
        }
        return number
    }
}

struct UsageError: Error, CustomStringConvertible {
    let description: String
}
