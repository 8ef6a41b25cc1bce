import SluiceConcurrency
import Synchronization

extension ResourceCache {
    /// Returns the answer of `work`, or of running work for the same key that another caller has started.
    ///
    /// The work is cancelled when all callers that wait for it are cancelled. An error goes to all of them, because the work has already
    /// tried again after transient errors. A caller that waits here holds no place of the limiter.
    func together(
        _ key: ResponseKey, _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let began = Began()
        let answer = try await flights.run(for: key) {
            began.isSet.store(true, ordering: .releasing)
            return try await work()
        }
        if !began.isSet.load(ordering: .acquiring) { count { $0.coalesced += 1 } }
        return answer
    }
}

private final class Began: Sendable {
    let isSet = Atomic(false)
}
