import Foundation
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite struct `Every interleaving of the limiter behaves like the naive one` {
    typealias Operation = LimiterExplorer.Operation

    @Test(arguments: 1...2)
    func `two tasks, any three operations each`(limit: Int) async {
        let violations = await offPool {
            let programs = Self.programs(of: [.acquire, .release, .cancel(1)])
            return programs.indices.flatMap { first in
                programs[first...].compactMap { second in Self.violation(limit, [programs[first], second]) }
            }
        }
        #expect(violations == [])
    }

    /// Each with the limit at which it is interesting.
    static let scenarios: [(limit: Int, programs: [[Operation]])] = [
        // Release and cancellation meet at the first in line.
        (1, [[.acquire, .release], [.acquire, .release], [.cancel(2), .acquire, .release]]),
        // Two in line, and the first of them is cancelled while the place is given back.
        (1, [[.acquire, .release, .cancel(1)], [.acquire, .release], [.acquire, .release]]),
        // Every task comes back for more.
        (1, [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .release]]),
        // Two cancel the third concurrently, which comes back.
        (1, [[.acquire, .cancel(2), .release], [.cancel(1), .acquire, .release], [.acquire, .release, .acquire]]),
        // A late handler finds its task in another wait, which cannot be interrupted.
        (1, [[.acquire, .cancel(1), .release], [.acquire, .acquireUninterrupted, .release], [.acquire, .release]]),
        // Tasks that can be interrupted and tasks that cannot, mixed.
        (
            1,
            [
                [.acquireUninterrupted, .release], [.acquire, .release, .cancel(2)], [.acquireUninterrupted, .release],
            ]
        ),
        // Places that are never given back.
        (1, [[.acquire, .cancel(1)], [.acquire, .acquire], [.acquire, .cancel(2)]]),
        // The head of the line needs two and is cancelled; the one behind it needs one.
        (2, [[.acquire, .release], [.acquire(2), .release], [.acquire, .cancel(2), .release]]),
        // The heavy one is granted, and cancelled; small ones come and go.
        (2, [[.acquire(2), .release, .cancel(1)], [.acquire(2), .release], [.acquire, .release]]),
        // The limit falls while places are taken, without and with the lock.
        (2, [[.acquire, .acquire, .release], [.resize(1), .tryAcquire(1)], [.tryAcquire(1), .release]]),
        // The limit grows while a task waits, is cancelled, and gives up.
        (1, [[.acquire, .release], [.acquire(2), .release], [.resize(2), .cancel(2), .resize(1)]]),
        // The limit becomes too small for one in line, and the one behind it is granted.
        (2, [[.acquire(2), .release], [.acquire(2), .release], [.resize(1), .acquire, .resize(2)]]),
        // All in line give up while a place is given back.
        (
            1,
            [
                [.acquire, .release, .acquire], [.acquireUninterrupted, .release],
                [.acquire, .cancelWaiting, .release],
            ]
        ),
        // Tasks with weights and without leave while one waits until all have left.
        (1, [[.acquire, .release], [.acquire(0), .release], [.waitUntilIdle, .acquire]]),
        // The last place goes to a task of weight zero that had to wait, because the limit fell.
        (2, [[.acquire(2), .release], [.resize(1), .acquire(0), .release], [.waitUntilIdle]]),
        // No task overtakes.
        (1, [[.acquire, .release, .tryAcquire(1)], [.acquire, .tryAcquire(1), .release], [.acquire, .release]]),
    ]

    @Test(arguments: scenarios.indices)
    func `three tasks, up to three operations each`(scenario: Int) async {
        let (limit, programs) = Self.scenarios[scenario]
        let violation = await offPool { Self.violation(limit, programs) }
        #expect(violation == nil)
    }

    /// Thousands of triples, for minutes: set `SLUICE_EXPLORE=all`, and build for release.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SLUICE_EXPLORE"] == "all"), arguments: 1...2)
    func `three tasks, any three operations each`(limit: Int) async {
        let violations = await offPool {
            let programs = Self.programs(of: [.acquire, .release, .cancel(1), .cancel(2)])
                .filter { $0.contains(.acquire) }
            var violations: [String] = []
            for first in programs.indices {
                for second in programs.indices[first...] {
                    for third in programs[second...] {
                        violations +=
                            Self.violation(limit, [programs[first], programs[second], third]).map { [$0] } ?? []
                    }
                }
            }
            return violations
        }
        #expect(violations == [])
    }

    @Test(arguments: [nil] + ExploredSite.Fault.allCases)
    func `a bug put in on purpose is found, and without one nothing is`(fault: ExploredSite.Fault?) async {
        let places: (limit: Int, programs: [[Operation]]) =
            (1, [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .cancel(1)]])
        let sizes: (limit: Int, programs: [[Operation]]) =
            (2, [[.acquire, .acquire], [.resize(1), .acquire], [.tryAcquire(1)]])
        let explored =
            switch fault {
            case nil: [places, sizes]
            case .resizeKeepsTheWord, .limitIsStale: [sizes]
            default: [places]
            }

        let violations = await offPool {
            explored.compactMap { Self.violation($0.limit, $0.programs, fault: fault) }
        }

        #expect(violations.isEmpty == (fault == nil))
    }

    /// Any operations at all, chosen by a seed: two tasks of three, or three of two. `SLUICE_EXPLORE=3000` tries that many
    /// of three tasks of three as well, for minutes.
    @Test
    func `two and three tasks, operations chosen at random`() async {
        let wanted = Int(ProcessInfo.processInfo.environment["SLUICE_EXPLORE"] ?? "")
        let tries = wanted ?? 60
        let violations = await offPool {
            (0..<tries).compactMap { seed in
                var random = SeededRandom(seed: UInt64(seed))
                let operations: [Operation] = [
                    .acquire, .acquire, .acquire(0), .acquire(2), .waitUntilIdle, .acquireUninterrupted, .tryAcquire(1),
                    .tryAcquire(2), .release,
                    .release, .release, .cancel(1), .cancel(2), .cancelWaiting, .resize(1), .resize(2), .resize(3),
                ]
                let tasks = seed % 2 == 0 ? 3 : 2
                let programs = (0..<tasks).map { _ in
                    (0..<(wanted == nil ? 5 - tasks : 3)).map { _ in operations.randomElement(using: &random)! }
                }
                return Self.violation(Int.random(in: 1...3, using: &random), programs)
            }
        }
        #expect(violations == [])
    }

    /// What goes wrong in some interleaving of these programs, if anything does.
    private static func violation(
        _ limit: Int, _ programs: [[Operation]], fault: ExploredSite.Fault? = nil
    ) -> String? {
        var explorer = LimiterExplorer(limit: limit, programs: programs, fault: fault)
        explorer.explore()
        return explorer.violation.map { "limit \(limit), \(programs): \($0)" }
    }

    /// All programs of three operations that give back no more than they take.
    private static func programs(of operations: [Operation]) -> [[Operation]] {
        var programs: [[Operation]] = [[]]
        for _ in 0..<3 { programs = programs.flatMap { program in operations.map { program + [$0] } } }
        return programs.filter { program in
            var held = 0
            return program.allSatisfy { operation in
                if operation == .acquire { held += 1 }
                if operation == .release { held -= 1 }
                return held >= 0
            }
        }
    }
}
