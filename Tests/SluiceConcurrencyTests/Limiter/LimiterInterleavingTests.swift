import Foundation
import TestSupport
import Testing

@testable import SluiceConcurrency

@Suite("Every interleaving of the limiter behaves like the naive one")
struct LimiterInterleavingTests {
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
    func `three tasks, up to three operations each`(programs: [[Operation]]) async {
        let violations = await offPool { (1...2).compactMap { Self.violation($0, programs) } }
        #expect(violations == [])
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

    @Test(arguments: ExploredSite.Fault.allCases)
    func `a bug put in on purpose is found`(fault: ExploredSite.Fault) async {
        let programs: [[Operation]] = [[.acquire, .release, .acquire], [.acquire, .release], [.acquire, .cancel(1)]]

        let (sound, faulty) = await offPool {
            (Self.violation(1, programs), Self.violation(1, programs, fault: fault))
        }

        #expect(sound == nil)
        #expect(faulty != nil)
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
