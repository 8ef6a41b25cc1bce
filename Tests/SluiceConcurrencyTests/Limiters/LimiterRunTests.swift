import SluiceConcurrency
import TestSupport
import Testing

/// What the compiler must accept at the call site, and where bodies run.
@Suite struct `Running with a limiter` {
    struct StoreError: Error, Equatable { var code: Int }

    /// Neither `Sendable` nor tied to an actor.
    final class Notebook {
        var lines: [String] = []
    }

    struct Ticket: ~Copyable { let number: Int }

    let limiter = ConcurrencyLimiter(concurrency: 2)

    @Test
    func `a throwing body selects the throwing overload, and any other body the nonthrowing one`() async throws {
        func download(_ name: String) async throws -> String { name }
        func compute() async -> Int { 7 }

        let image = try await limiter.run { try await download("image") }
        let count = await limiter.run { await compute() }
        let sum = await limiter.run {
            var sum = 0
            for number in 1...3 { sum += number }
            return sum + (await compute())
        }
        let lines = try await limiter.run {
            let text = try await download("a\nb")
            return text.split(separator: "\n").count
        }
        let reference = try await limiter.run(download2)
        let plain = await limiter.run(compute)

        #expect((image, count, sum, lines) == ("image", 7, 13, 2))
        #expect((reference, plain) == (1, 7))
    }

    private func download2() async throws -> Int { 1 }

    @Test
    func `both overloads work in task groups and async let`() async throws {
        let limiter = limiter
        func compute() async -> Int { 1 }
        func load() async throws -> Int { 2 }

        async let one = limiter.run { await compute() }
        async let two = limiter.run { try await load() }
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 { group.addTask { await limiter.run { 10 } } }
            for _ in 0..<3 { group.addTask { try await limiter.run { try await load() * 10 } } }
            return try await group.reduce(0, +)
        }

        #expect(try await one + two == 3)
        #expect(sum == 90)
    }

    @Test
    func `a body's error is thrown unchanged, and its place is released`() async {
        let single = ConcurrencyLimiter(concurrency: 1)

        await #expect(throws: StoreError(code: 3)) { try await single.run { throw StoreError(code: 3) } }

        #expect(single.runningCount == 0)
        #expect(await single.run { true })
    }

    @Test
    func `runUninterrupted keeps the type of the error`() async {
        func close(_ code: Int) async throws(StoreError) -> Int {
            if code == 0 { 0 } else { throw StoreError(code: code) }
        }

        do throws(StoreError) {
            let fine = try await limiter.runUninterrupted { () async throws(StoreError) in try await close(0) }
            #expect(fine == 0)
            _ = try await limiter.runUninterrupted { () async throws(StoreError) in try await close(4) }
            Issue.record("It did not throw.")
        } catch {
            #expect(error.code == 4)
        }
        let cannotThrow = await limiter.runUninterrupted { 5 }
        #expect(cannotThrow == 5)
    }

    @Test
    func `runUnlessCancelled throws nothing but CancellationError`() async {
        do throws(CancellationError) {
            let value = try await limiter.runUnlessCancelled { 5 }
            #expect(value == 5)
        } catch {
            Issue.record("No task was cancelled.")
        }
    }

    @Test
    func `runIfAvailable keeps the type of the error`() async {
        do throws(StoreError) {
            let none: Int? = try await limiter.runIfAvailable { () async throws(StoreError) in throw StoreError(code: 1)
            }
            Issue.record("It returned \(String(describing: none)).")
        } catch {
            #expect(error.code == 1)
        }
        #expect(await limiter.runIfAvailable { 2 } == 2)
    }

    @Test
    func `bodies and results needn't be Sendable, and results needn't be copyable`() async throws {
        let notebook = Notebook()

        await limiter.run { notebook.lines.append("one") }
        let same = try await limiter.run { () async throws in
            notebook.lines.append("two")
            return notebook
        }
        let ticket = await limiter.run { Ticket(number: 9) }
        let maybe = await limiter.runIfAvailable { Ticket(number: 10) }
        let weighed = try await limiter.run(weight: 2) { () async throws in
            notebook.lines.append("two and a half")
            return Ticket(number: 11)
        }
        let timed = try await limiter.run(until: .now + .seconds(60), clock: .continuous) { () async throws in notebook
        }

        same.lines.append("three")
        #expect(notebook.lines == ["one", "two", "two and a half", "three"])
        #expect(ticket.number == 9)
        #expect(weighed.number == 11)
        #expect(timed === notebook)
        switch consume maybe {
        case .some(let ticket): #expect(ticket.number == 10)
        case .none: Issue.record("There was a place.")
        }
    }

    // MARK: Isolation

    actor Album {
        var images = 0
        let limiter = ConcurrencyLimiter(concurrency: 1)

        func add() async throws {
            await limiter.run {
                preconditionIsolated("A body must run on the actor of the caller.")
                images += 1
                await suspendOnce()
                preconditionIsolated("A body must come back to the actor of the caller.")
            }
            try await limiter.run {
                try Task.checkCancellation()
                preconditionIsolated("A body must run on the actor of the caller.")
                images += 1
            }
            try await limiter.runUnlessCancelled { images += 1 }
            await limiter.runUninterrupted { images += 1 }
            _ = await limiter.runIfAvailable { images += 1 }
            try await limiter.run(weight: 1) {
                preconditionIsolated("A body must run on the actor of the caller.")
                images += 1
            }
            _ = try await limiter.run(until: .now + .seconds(60), clock: .continuous) {
                preconditionIsolated("A body must run on the actor of the caller.")
                images += 1
            }
            let permit = try await limiter.acquire()
            preconditionIsolated("A caller must come back to its actor.")
            images += permit.weight
            permit.release()
        }
    }

    @Test
    func `a body runs on the caller's actor, with and without waiting`() async throws {
        let album = Album()

        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await album.add() } }
            try await group.waitForAll()
        }

        #expect(await album.images >= 140)
    }

    @MainActor
    final class Window {
        var redraws = 0
    }

    @Test @MainActor
    func `a body runs on the main actor if its caller does, with and without waiting`() async throws {
        let single = ConcurrencyLimiter(concurrency: 1)
        let window = Window()

        let tasks = (0..<10).map { _ in
            Task {
                await single.run {
                    MainActor.preconditionIsolated("A body must run on the actor of the caller.")
                    window.redraws += 1
                    await suspendOnce()
                }
                // Too far away to pass even under load. Other tests cover deadlines.
                _ = try? await single.run(until: .now + .seconds(86_400), clock: .continuous) { () async throws in
                    MainActor.preconditionIsolated("A body must run on the actor of the caller.")
                    window.redraws += 1
                }
                guard let permit = try? await single.acquire(weight: 1) else { return }
                MainActor.preconditionIsolated("A caller must come back to its actor.")
                window.redraws += 1
                permit.release()
            }
        }
        for task in tasks { await task.value }

        #expect(window.redraws == 30)
    }

    @Test
    func `a body runs on no actor if its caller does`() async {
        await Task { @concurrent in
            await limiter.run { #expect(#isolation == nil) }
        }.value
    }
}

// MARK: - A keyed limiter

/// What the compiler must accept at the call site, and where bodies run.
@Suite struct `Running with a keyed limiter` {
    struct StoreError: Error, Equatable { var code: Int }

    /// Neither `Sendable` nor tied to an actor.
    final class Notebook {
        var lines: [String] = []
    }

    struct Ticket: ~Copyable { let number: Int }

    let limiter = KeyedLimiter<String>(perKey: 1, total: 2)

    @Test func `a throwing body selects the throwing overload, and any other body the nonthrowing one`() async throws {
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

    @Test func `errors are thrown unchanged, typed where possible, and the place is released`() async {
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

    @Test func `bodies and results needn't be Sendable, and results needn't be copyable`() async throws {
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
            // Too long to expire even under load. Other tests cover timeouts.
            try await limiter.run(for: 1, timeout: .seconds(86_400)) { images += 1 }
        }
    }

    @Test func `a body runs on the caller's actor, with and without waiting`() async throws {
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
