import SluiceConcurrency
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Stage 2: concurrent callers for the same key wait for one operation.
extension ResourceCache {
    /// Returns the result of `work`, or of running work for the same key that another caller has started.
    ///
    /// The work is cancelled when all callers that wait for it are cancelled. An error goes to all of them, because the fetch stage has
    /// already tried again after transient errors. A caller that waits here holds no place of the limiter.
    func together<Key, Response>(
        _ flights: SingleFlight<Key, Response>, _ key: Key, _ work: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        let began = Began()
        let response = try await flights.run(for: key) {
            began.isSet.store(true, ordering: .releasing)
            return try await work()
        }
        if !began.isSet.load(ordering: .acquiring) { count { $0.coalesced += 1 } }
        return response
    }
}

private final class Began: Sendable {
    let isSet = Atomic(false)
}
