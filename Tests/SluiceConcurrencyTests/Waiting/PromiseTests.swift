import SluiceConcurrency
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(15))) struct `A promise` {
    enum LoadError: Error, Equatable {
        case notFound
        case loaderGone
    }

    let executor = ManualExecutor()
    let clock = ManualClock()

    @Test
    func `abandon completes the promise, unless it is already completed`() async {
        let (promise, resolver) = Promise<Int, any Error>.makePromise()
        #expect(resolver.abandon())
        #expect(!resolver.succeed(1))
        await #expect(throws: PromiseAbandoned.self) { try await promise.value }

        let (kept, other) = Promise<Int, any Error>.makePromise()
        #expect(other.succeed(1))
        #expect(!other.abandon())
        #expect(try! await kept.value == 1)
    }

    @Test
    func `all waiting tasks get the value in order, and so do later ones`() async throws {
        let (promise, resolver) = Promise<String, any Error>.makePromise()
        let recorder = Recorder<String>()
        for number in 0..<4 {
            _ = executor.spawnThrowing { recorder.note("\(number) \(try await promise.value)") }
        }
        executor.runUntilIdle()
        #expect(recorder.values == [])

        #expect(resolver.succeed("song"))
        executor.runUntilIdle()

        #expect(recorder.values == ["0 song", "1 song", "2 song", "3 song"])
        #expect(try await promise.value == "song")
    }

    @Test
    func `only the first completion counts, and each call returns whether it was the first`() async {
        let (promise, resolver) = Promise<Int, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))

        #expect(resolver.fail(.notFound))
        #expect(!resolver.succeed(1))
        #expect(!resolver.fail(.loaderGone))
        #expect(!resolver.complete(with: .success(2)))

        #expect(await promise.result == .failure(.notFound))
    }

    @Test
    func `the error type is kept`() async {
        let (promise, resolver) = Promise<Int, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
        resolver.complete(with: .failure(.notFound))
        do throws(LoadError) {
            _ = try await promise.value
            Issue.record("It must fail.")
        } catch {
            #expect(error == .notFound)
        }
    }

    @Test
    func `a promise that cannot fail needs no try`() async {
        let (promise, resolver) = Promise<Int?, Never>.makePromise(ifAbandoned: .success(nil))
        resolver.succeed(3)
        #expect(await promise.value == 3)
    }

    @Test
    func `releasing the resolver fails the promise with PromiseAbandoned`() {
        let holders = [Recorder<Promise<Int, any Error>.Resolver>(), Recorder<Promise<Int, any Error>.Resolver>()]
        func makePromise() -> Promise<Int, any Error> {
            let (promise, resolver) = Promise<Int, any Error>.makePromise()
            for holder in holders { holder.note(resolver) }
            return promise
        }
        let promise = makePromise()
        let recorder = Recorder<any Error>()
        _ = executor.spawn {
            do { _ = try await promise.value } catch { recorder.note(error) }
        }
        executor.runUntilIdle()

        holders[0].forget()
        executor.runUntilIdle()
        #expect(recorder.values.isEmpty)
        holders[1].forget()
        executor.runUntilIdle()

        #expect(recorder.values.map { $0 is PromiseAbandoned } == [true])
        #expect(PromiseAbandoned().description.contains("abandoned"))
    }

    @Test
    func `releasing the resolver completes the promise with the chosen result`() {
        @Sendable func failing() -> Promise<Int, LoadError> {
            Promise.makePromise(ifAbandoned: .failure(.loaderGone)).promise
        }
        @Sendable func empty() -> Promise<Int?, Never> { Promise.makePromise(ifAbandoned: .success(nil)).promise }

        let failures = Recorder<Result<Int, LoadError>>()
        let values = Recorder<Int?>()
        _ = executor.spawn { failures.note(await failing().result) }
        _ = executor.spawn { values.note(await empty().value) }
        executor.runUntilIdle()

        #expect(failures.values == [.failure(.loaderGone)])
        #expect(values.values == [nil])
    }

    @Test
    func `a promise that was completed isn't abandoned when its resolver is released`() async {
        func completed() -> Promise<Int, LoadError> {
            let (promise, resolver) = Promise<Int, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
            resolver.succeed(1)
            return promise
        }
        #expect(await completed().result == .success(1))
    }

    @Test
    func `in a cancelled task, value waits for the completion, and valueUnlessCancelled doesn't`() async throws {
        let (promise, resolver) = Promise<Int, any Error>.makePromise()
        let steady = executor.spawnThrowing { try await promise.value }
        let other = executor.spawnThrowing { try await promise.valueUnlessCancelled() }
        let early = executor.spawnThrowing { try await promise.valueUnlessCancelled() }
        early.cancel()
        executor.runUntilIdle()
        steady.cancel()
        other.cancel()
        executor.runUntilIdle()
        await #expect(throws: CancellationError.self) { try await other.value }
        await #expect(throws: CancellationError.self) { try await early.value }

        resolver.succeed(5)
        executor.runUntilIdle()

        #expect(try await steady.value == 5)
    }

    @Test
    func `an earlier result is returned even in a cancelled task and after the deadline`() async throws {
        let (promise, resolver) = Promise<Int, any Error>.makePromise()
        resolver.succeed(5)
        let task = executor.spawnThrowing { [clock] in
            try await promise.valueUnlessCancelled() + promise.value(until: clock.now, clock: clock)
        }
        task.cancel()
        executor.runUntilIdle()

        #expect(try await task.value == 10)
    }

    @Test
    func `a timeout of zero throws unless the promise is already completed`() async throws {
        let (promise, resolver) = Promise<Int, any Error>.makePromise()
        await #expect(throws: DeadlineExceeded.self) { try await promise.value(timeout: .zero) }

        resolver.succeed(5)

        #expect(try await promise.value(timeout: .zero) == 5)
    }

    @Test
    func `value until a deadline returns or throws by then, and leaves no sleeping task`() async throws {
        let (promise, resolver) = Promise<Int, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
        let late = executor.spawnThrowing { [clock] in
            try await promise.value(until: .init(offset: .seconds(1)), clock: clock)
        }
        let early = executor.spawnThrowing { [clock] in
            try await promise.value(until: .init(offset: .seconds(2)), clock: clock)
        }
        let cancelled = executor.spawnThrowing { [clock] in
            try await promise.value(until: .init(offset: .seconds(2)), clock: clock)
        }
        executor.runUntilIdle()
        cancelled.cancel()
        clock.advance(by: .seconds(1))
        executor.runUntilIdle()
        await #expect(throws: DeadlineExceeded.self) { try await late.value }
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        resolver.fail(.notFound)
        executor.runUntilIdle()

        await #expect(throws: LoadError.notFound) { try await early.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test
    func `on all threads, exactly one completion is first, and all waiting tasks get its value`() async {
        for _ in 0..<300 {
            let (promise, resolver) = Promise<Int, LoadError>.makePromise(ifAbandoned: .failure(.loaderGone))
            let winners = Recorder<Int>()
            let seen = Recorder<Int>()
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    group.addTask { if resolver.succeed(number) { winners.note(number) } }
                    group.addTask { seen.note((try? await promise.value) ?? -1) }
                }
            }
            #expect(winners.values.count == 1)
            #expect(Set(seen.values) == Set(winners.values) && seen.values.count == 4)
        }
    }

    final class Tracked: Sendable {
        let whenGone: @Sendable () -> Void
        init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
        deinit { whenGone() }
    }

    /// If the value were destroyed under the lock, its deinit, which uses the promise, would trap.
    @Test
    func `a value that arrives too late is destroyed outside the lock`() async throws {
        let (promise, resolver) = Promise<Tracked?, any Error>.makePromise()
        let gone = Recorder<Bool>()
        #expect(resolver.succeed(nil))

        resolver.succeed(Tracked { [weak resolver] in gone.note(resolver?.succeed(nil) ?? true) })

        #expect(gone.values == [false])
        #expect(try await promise.value == nil)
    }

    @Test @MainActor
    func `a waiter returns to its actor`() async throws {
        let (promise, resolver) = Promise<Int, any Error>.makePromise()
        async let completing: Void = Task { @concurrent in _ = resolver.succeed(1) }.value

        #expect(try await promise.value == 1)

        MainActor.preconditionIsolated("A waiter must come back to its actor.")
        await completing
    }
}
