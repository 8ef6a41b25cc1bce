import Foundation

/// Runs a computation on a new thread, so that the pool's threads stay free for the tasks of other tests.
///
///     let found = await offPool { search(everything) }
///
/// Use it for work that takes a second or more. If both threads of a two-thread pool compute, every server looks stalled to other tests.
public func offPool<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: body()) }
        thread.stackSize = 8 << 20
        thread.start()
    }
}
