import Foundation
import Testing

@testable import SluiceConcurrency

@Suite("Every interleaving of the limiter behaves like the naive one")
struct LimiterInterleavingTests {
    typealias Operation = LimiterExplorer.Operation

    @Test(arguments: 1...2)
    func `two tasks, any three operations each`(limit: Int) {
        let programs = Self.programs(of: [.acquire, .release, .cancel(1)])
        for first in programs.indices {
            for second in programs[first...] {
                var explorer = LimiterExplorer(limit: limit, programs: [programs[first], second])
                explorer.explore()
                #expect(explorer.violation == nil, "\(programs[first]) with \(second)")
            }
        }
    }

    @Test(
        arguments: [
            // Release and cancellation meet at the first in line.
            [[.acquire, .release], [.acquire, .release], [.cancel(2), .acquire, .release]],
            // Two in line, and the first of them is cancelled while the place is given back.
            [[.acquire, .release, .cancel(1)], [.acquire, .release], [.acquire, .release]],
            // Everybody comes back for more.
            [[.acquire, .release, .acquire], [.acquire, .release, .acquire], [.acquire, .release]],
            // Two cancel the third at once, which comes back.
            [[.acquire, .cancel(2), .release], [.cancel(1), .acquire, .release], [.acquire, .release, .acquire]],
            // A late handler finds its task in another wait, which cannot be interrupted.
            [[.acquire, .cancel(1), .release], [.acquire, .acquireUninterrupted, .release], [.acquire, .release]],
            // Those who can be interrupted and those who cannot, mixed.
            [
                [.acquireUninterrupted, .release], [.acquire, .release, .cancel(2)], [.acquireUninterrupted, .release],
            ],
            // Places that are never given back.
            [[.acquire, .cancel(1)], [.acquire, .acquire], [.acquire, .cancel(2)]],
        ] as [[[Operation]]])
    func `three tasks, up to three operations each`(programs: [[Operation]]) {
        for limit in 1...2 {
            var explorer = LimiterExplorer(limit: limit, programs: programs)
            explorer.explore()
            #expect(explorer.violation == nil, "with a limit of \(limit)")
        }
    }

    /// Thousands of triples, for minutes: set `SLUICE_EXPLORE=all`, and build for release.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SLUICE_EXPLORE"] == "all"), arguments: 1...2)
    func `three tasks, any three operations each`(limit: Int) {
        let programs = Self.programs(of: [.acquire, .release, .cancel(1), .cancel(2)])
            .filter { $0.contains(.acquire) }
        var states = 0
        for first in programs.indices {
            for second in programs.indices[first...] {
                for third in programs[second...] {
                    var explorer = LimiterExplorer(limit: limit, programs: [programs[first], programs[second], third])
                    explorer.explore()
                    states += explorer.statesSeen
                    #expect(explorer.violation == nil, "\(programs[first]) with \(programs[second]) and \(third)")
                }
            }
        }
        print("limit \(limit): \(states) states")
    }

    @Test(arguments: ExploredSite.Fault.allCases)
    func `a bug put in on purpose is found`(fault: ExploredSite.Fault) {
        let programs: [[Operation]] = [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .cancel(1)]]

        var sound = LimiterExplorer(limit: 1, programs: programs)
        sound.explore()
        var faulty = LimiterExplorer(limit: 1, programs: programs, fault: fault)
        faulty.explore()

        #expect(sound.violation == nil)
        #expect(faulty.violation != nil)
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
