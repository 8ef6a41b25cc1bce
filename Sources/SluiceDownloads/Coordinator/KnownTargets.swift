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
    private struct State {
        var facts: [JobID: TargetFacts] = [:]
        var mayBePublished: Set<JobID> = []
    }

    private let state = Lock(State())

    func look(at jobs: [(id: JobID, request: DownloadRequest)], using files: FileIO) async {
        await TargetFacts.of(jobs.lazy.map(\.request), using: files) { note($1, of: jobs[$0].id) }
    }

    func note(_ found: TargetFacts, of job: JobID) {
        state.withLock { $0.facts[job] = found }
    }

    /// Notes that a process that has died may have published the job's file.
    func noteMayBePublished(_ job: JobID) {
        state.withLock { _ = $0.mayBePublished.insert(job) }
    }

    func mayBePublished(_ job: JobID) -> Bool {
        state.withLock { $0.mayBePublished.contains(job) }
    }

    func take(_ job: JobID) -> TargetFacts? {
        state.withLock { $0.facts.removeValue(forKey: job) }
    }

    func forgetAll() {
        // Released after unlocking.
        let forgotten = state.withLock { state in
            defer { state = State() }
            return state
        }
        _ = forgotten
    }
}
