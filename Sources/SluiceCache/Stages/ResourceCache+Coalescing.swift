import SluiceConcurrency
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Stage 2: those who ask for the same thing at once wait for one.
extension ResourceCache {
    /// The result of `work`, or of the work for the same key that another caller has begun.
    ///
    /// The work belongs to all who wait for it, not to the one who came first: it has a task of its own, so that the first
    /// may be cancelled and the others still get their bytes. It is cancelled when the last has left. An error goes to all:
    /// whatever may pass was tried again on behalf of all by the fetch stage, and each of them would send the same request
    /// again. Who asks later begins anew.
    ///
    /// No place of the limiter is held while waiting here, by anybody.
    func together(_ key: ResourceKey, _ work: @escaping @Sendable () async throws -> Data) async throws -> Data {
        let began = Began()
        let data = try await flights.run(for: key) {
            began.isSet.store(true, ordering: .releasing)
            return try await work()
        }
        if !began.isSet.load(ordering: .acquiring) { count { $0.coalesced += 1 } }
        return data
    }
}

/// Whether it was this caller whose work ran.
private final class Began: Sendable {
    let isSet = Atomic(false)
}
