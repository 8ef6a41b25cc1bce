import TestSupport
import Testing

import SluiceConcurrency

/// What the compiler must accept at the call site, and where bodies run.
@Suite struct `Running with a keyed limiter` {
    struct StoreError: Error, Equatable { var code: Int }

    /// Neither `Sendable` nor tied to an actor.
    final class Notebook {
        var lines: [String] = []
    }

    struct Ticket: ~Copyable { let number: Int }

    let limiter = KeyedLimiter<String>(perKey: 1, total: 2)

    @Test func `a body that throws selects the throwing form, one that cannot the other`() async throws {
        func download(_ name: String) async throws -> String { name }
        func compute() async -> Int { 7 }

        let image = try await limiter.run(for: "a") { try await download("image") }
        let count = await limiter.run(for: "a") { await compute() }
        let lines = try await limiter.run(for: "a") {
            let text = try await download("a\nb")
            return text.split(separator: "\n").count
        }

        #expect((image, count, lines) == ("image", 7, 2))
    }

    @Test func `errors come back unchanged, typed where that is possible, and the place is free again`() async {
        await #expect(throws: StoreError(code: 3)) { try await limiter.run(for: "a") { throw StoreError(code: 3) } }
        do throws(StoreError) {
            try await limiter.runUninterrupted(for: "a") { () async throws(StoreError) in throw StoreError(code: 4) }
        } catch {
            #expect(error.code == 4)
        }
        do throws(StoreError) {
            _ = try await limiter.runIfAvailable(for: "a") { () async throws(StoreError) in throw StoreError(code: 5) }
        } catch {
            #expect(error.code == 5)
        }
        do throws(CancellationError) {
            #expect(try await limiter.runUnlessCancelled(for: "a") { 6 } == 6)
        } catch {
            Issue.record("No task was cancelled.")
        }
        #expect(limiter.runningCount == 0)
    }

    @Test func `bodies and results need not be Sendable, and results not copyable`() async throws {
        let notebook = Notebook()
        let clock = ManualClock()

        await limiter.run(for: "a") { notebook.lines.append("one") }
        let same = try await limiter.run(for: "a") { () async throws in
            notebook.lines.append("two")
            return notebook
        }
        let kept = try await limiter.run(for: "a", until: clock.now, clock: clock) { notebook }
        let ticket = await limiter.run(for: "a") { Ticket(number: 9) }
        let maybe = await limiter.runIfAvailable(for: "a") { Ticket(number: 10) }

        #expect(same === kept)
        #expect(notebook.lines == ["one", "two"])
        #expect(ticket.number == 9)
        switch consume maybe {
        case .some(let ticket): #expect(ticket.number == 10)
        case .none: Issue.record("There was a place.")
        }
    }

    actor Album {
        var images = 0
        let limiter = KeyedLimiter<Int>(perKey: 1, total: 1)

        func add() async throws {
            await limiter.run(for: 1) {
                preconditionIsolated("A body must run on the actor of the caller.")
                images += 1
                await suspendOnce()
                preconditionIsolated("A body must come back to the actor of the caller.")
            }
            try await limiter.run(for: 2) { () async throws in
                preconditionIsolated("A body must run on the actor of the caller.")
                images += 1
            }
            try await limiter.runUnlessCancelled(for: 1) { images += 1 }
            await limiter.runUninterrupted(for: 2) { images += 1 }
            _ = await limiter.runIfAvailable(for: 1) { images += 1 }
            // No load outlasts this timeout: what it is for is tested elsewhere.
            try await limiter.run(for: 1, timeout: .seconds(86_400)) { images += 1 }
        }
    }

    @Test func `a body runs on the actor of the caller, with and without waiting`() async throws {
        let album = Album()

        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await album.add() } }
            try await group.waitForAll()
        }

        #expect(await album.images >= 80)
    }

    @Test @MainActor func `a body runs on the main actor if its caller does`() async {
        var redraws = 0
        let tasks = (0..<10).map { _ in
            Task {
                await limiter.run(for: "window") {
                    MainActor.preconditionIsolated("A body must run on the actor of the caller.")
                    redraws += 1
                    await suspendOnce()
                }
            }
        }
        for task in tasks { await task.value }

        #expect(redraws == 10)
    }

    @Test func `a body runs on no actor if its caller does`() async {
        await Task { @concurrent in
            await limiter.run(for: "a") { #expect(#isolation == nil) }
        }.value
    }
}
