/// The arguments of the program.
struct Options: Sendable {
    var rounds = 10_000
    var seed = UInt64.random(in: 1...999_999)
    var filters: [String] = []
    /// Seconds without progress after which a scenario counts as hung.
    var stall = 60
    var wantsList = false
    var wantsHelp = false
    /// An inserted fault that must be found. `nil` for the real scenarios.
    var fault: String?

    static let help = """
        Races the types of SluiceConcurrency against each other on all processors, and checks each round.

            Scripts/stress.sh                                  every scenario, 10,000 rounds each: a minute, as CI does it
            Scripts/stress.sh --rounds 200000                  minutes
            Scripts/stress.sh --filter queue/ --rounds 2000000
            Scripts/stress.sh --seed 42 --filter 'limiter/release against cancel'

        --rounds N      the rounds of each scenario, 10,000 by default; those about memory cancel 5 times as many waiters
        --seed S        the seed of the random choices (delays, orders); by default another one each time. The same seed
                        makes the same choices; which side wins a race still depends on the machine, and a side that wins
                        too often is held back in later rounds
        --filter TEXT   only scenarios with this in their name; may be given several times
        --stall N       seconds without a step after which a scenario counts as hung, 60 by default
        --list          prints the scenarios and their claims
        --fault NAME    runs an inserted fault instead: race (for ThreadSanitizer), lost, doubled, oneway,
                        hang

        Most scenarios are contests: a waiter, and two sides that end its wait, each in a different way, at the same moment.
        "suspended" means that the waiter waits already; "entering" that it comes while both act. The table shows how
        often each side won, and how often ("overlap") both racers met on two threads; busy processors
        reduce it. A scenario of 10,000 rounds or more in which one side won every round has raced nothing and counts
        as failed, also on a busy machine.

        Exits with 1 if a round broke its claim, and aborts with a report if a scenario hangs. After a crash, the last
        row of the table names the scenario.
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

    /// Returns the scenarios to run: a fault only with --fault.
    func select(from scenarios: [Scenario]) -> [Scenario] {
        if let fault { return Catalog.faults.filter { $0.name == "fault/\(fault)" } }
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
