import Foundation
import HTTPTypes
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// The wall clock is set while a cache is in use, and between two uses.
@Suite struct `A wall clock that is set` {
    private static let day: Int64 = 86_400

    /// A server whose resource has a new version with each fetch, and a Date of its own clock, which is correct.
    private static func server(_ wall: WallClock) -> ClosureTransport {
        let correct = wall.now()
        return ClosureTransport { request, number in
            let date = correct.description
            return .bytes(pattern(100, seed: number), [.cacheControl: "max-age=60", .date: date])
        }
    }

    struct Step: Sendable {
        /// The seconds by which the clock is set.
        var shift: Int64
        /// The number of fetches until then, the step's included.
        var fetches: Int
    }

    static let courses: [(String, [Step])] = [
        ("stands still", [Step(shift: 0, fetches: 1), Step(shift: 59, fetches: 1), Step(shift: 1, fetches: 2)]),
        ("set forward", [Step(shift: 3650 * day, fetches: 2), Step(shift: 0, fetches: 3), Step(shift: 0, fetches: 4)]),
        // Before the time of arrival, the age is unknown.
        (
            "set back",
            [
                Step(shift: -1, fetches: 2), Step(shift: 0, fetches: 2), Step(shift: -3650 * day, fetches: 3),
                Step(shift: 0, fetches: 3),
            ]
        ),
        (
            "set back and forward again",
            [Step(shift: -day, fetches: 2), Step(shift: day, fetches: 3), Step(shift: 0, fetches: 3)]
        ),
    ]

    @Test(arguments: courses.indices, [true, false])
    func `makes no response fresher than it is`(course: Int, restarts: Bool) async throws {
        let (name, steps) = Self.courses[course]
        try await withDirectory { directory in
            let wall = WallClock()
            let server = Self.server(wall)
            func use(_ cache: ResourceCache, _ step: Step) async throws {
                wall.advance(step.shift)
                let data = try await cache.data(for: url("a"))
                #expect(server.requests.values.count == step.fetches, "\(name), \(step)")
                #expect(same(data, pattern(100, seed: step.fetches)), "\(name), \(step)")
                #expect(cache.statistics.damaged == 0 && cache.statistics.diskFailures == 0)
            }
            let all = [Step(shift: 0, fetches: 1)] + steps
            if restarts {
                for step in all { try await withCache(in: directory, server, wall: wall) { try await use($0, step) } }
            } else {
                try await withCache(in: directory, server, wall: wall) { cache in
                    for step in all { try await use(cache, step) }
                    try await expectConsistent(cache)
                }
            }
        }
    }

    @Test func `a stale response from the future is validated, and then fresh`() async throws {
        try await withDirectory { directory in
            let wall = WallClock()
            let server = ClosureTransport { request, _ in
                let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
                return request.headerFields[.ifNoneMatch] == nil
                    ? .bytes(pattern(100), fields) : .response(status: .notModified, headerFields: fields)
            }
            try await withCache(in: directory, server, wall: wall) { cache in
                for (shift, requests) in [(0, 1), (-Self.day, 2), (0, 2), (30, 2), (31, 3), (10 * Self.day, 4)] {
                    wall.advance(shift)
                    try await expect(pattern(100), from: cache, url("a"))
                    #expect(server.requests.values.count == requests, "after \(shift)")
                }
                #expect(cache.statistics.fetched == 1 && cache.statistics.revalidated == 3)
            }
        }
    }

    @Test func `a clock before 1970 and one after 9999 do no harm`() async throws {
        try await withDirectory { directory in
            let wall = WallClock()
            let server = ClosureTransport { _, number in .bytes(pattern(100, seed: number)) }
            try await withCache(in: directory, server, wall: wall) { cache in
                for shift in [-100 * 365 * Self.day, 20_000 * 365 * Self.day, 0] {
                    wall.advance(shift)
                    _ = try await cache.data(for: url("a"))
                    #expect(cache.statistics.diskFailures == 0)
                }
                let last = try await cache.data(for: url("a"))
                #expect(same(last, pattern(100, seed: server.requests.values.count)))
            }
        }
    }
}
