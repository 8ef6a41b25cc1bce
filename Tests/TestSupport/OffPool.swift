import Foundation

/// Computes on a thread of its own, so that the pool's threads stay free for the tasks of other tests.
///
///     let found = await offPool { search(everything) }
///
/// For work of a second or more: a pool of two threads that both compute looks to every other test like a stalled server.
public func offPool<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: body()) }
        thread.stackSize = 8 << 20
        thread.start()
    }
}
