import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Facts about targets that were inspected before their jobs were claimed, kept until the attempts take them.
///
/// If a file appears in between, the transfer finds it when it publishes its own file.
final class KnownTargets: Sendable {
    private let facts = Lock<[JobID: TargetFacts]>([:])

    func look(at jobs: [(id: JobID, request: DownloadRequest)], using files: FileIO) async {
        await TargetFacts.of(jobs.lazy.map(\.request), using: files) { note($1, of: jobs[$0].id) }
    }

    func note(_ found: TargetFacts, of job: JobID) {
        facts.withLock { $0[job] = found }
    }

    func take(_ job: JobID) -> TargetFacts? {
        facts.withLock { $0.removeValue(forKey: job) }
    }

    func forgetAll() {
        // Released after unlocking.
        let forgotten = facts.withLock { facts in
            defer { facts = [:] }
            return facts
        }
        _ = forgotten
    }
}
