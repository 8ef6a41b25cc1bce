import SluiceConcurrency

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ResourceCache {
    /// Fetches resources in advance that will probably be needed soon, such as the images below the visible part of a list.
    ///
    ///     let prefetch = Task { await cache.prefetch(urls) }
    ///     // When the list disappears:
    ///     prefetch.cancel()
    ///
    /// The fetches have the lowest priority, so requests of other callers overtake them. Returns when all resources are in the cache or
    /// have failed. A failure has no effect: a later request for the resource reports it.
    ///
    /// - Cancellation: Returns soon. A fetch that another caller waits for continues, and its resource is stored.
    /// - Parameter urls: The resources, in the order in which they will be needed.
    public func prefetch(_ urls: some Sequence<URL>) async {
        await prefetch(urls) { _ = try await self.data(for: $0) }
    }

    /// Calls `fetch` for each URL, in tasks of the lowest priority. Only as many run as exchanges can, so that the line of waiting fetches
    /// stays short.
    func prefetch(_ urls: some Sequence<URL>, _ fetch: @escaping @Sendable (URL) async throws -> Void) async {
        let waiting = AsyncQueue<URL>()
        for url in urls { waiting.enqueue(url) }
        waiting.finish()
        let (ended, end) = Condition.makeCondition()
        // An unstructured task: a task that waits for a task, or for a group, raises it to its own priority.
        let work = Task(priority: .background) {
            await withDiscardingTaskGroup { group in
                for _ in 0..<configuration.concurrency {
                    group.addTask {
                        while !Task.isCancelled, let url = waiting.tryDequeue() { try? await fetch(url) }
                    }
                }
            }
            end.signal()
        }
        await withTaskCancellationHandler {
            _ = await ended.wait()
        } onCancel: {
            work.cancel()
        }
    }
}
