import SluiceFiles
import SluiceLock

/// Looks up the targets and checkpoints of many jobs in one operation. A separate lookup for each small file needs a thread switch, which
/// takes a tenth of the time of its transfer.
final class Lookout: Sendable {
    struct Sighting: Sendable {
        var target: Result<FileStatus?, FileError>
        var mayResume: Bool

        /// Whether the target exists and has no checkpoint.
        var isThereAndTidy: Bool {
            if case .success(.some) = target { !mayResume } else { false }
        }
    }

    private let sightings = Lock<[JobID: Sighting]>([:])

    private static let batch = 256

    func take(_ job: JobID) -> Sighting? {
        sightings.withLock { $0.removeValue(forKey: job) }
    }

    func note(_ sighting: Sighting, of job: JobID) {
        sightings.withLock { $0[job] = sighting }
    }

    /// Looks up jobs before they are claimed. A file that appears later is found when the download publishes its file.
    func look(ahead jobs: [(id: JobID, request: DownloadRequest)], _ files: FileIO) async {
        await Self.look(at: jobs.lazy.map(\.request), files) { note($1, of: jobs[$0].id) }
    }

    func forgetAll() {
        let forgotten = sightings.withLock { sightings in
            defer { sightings = [:] }
            return sightings
        }
        _ = forgotten
    }

    /// Passes each result with its offset. Ends early if the task is cancelled.
    static func look(
        at requests: some RandomAccessCollection<DownloadRequest>, _ files: FileIO,
        _ found: (_ offset: Int, Sighting) -> Void
    ) async {
        var rest = requests[...]
        var offset = 0
        while !rest.isEmpty, !Task.isCancelled {
            guard let seen = await look(at: Array(rest.prefix(batch)), files) else { return }
            rest = rest.dropFirst(batch)
            for sighting in seen {
                found(offset, sighting)
                offset += 1
            }
        }
    }

    /// Returns `nil` if the task is cancelled.
    static func look(at requests: [DownloadRequest], _ files: FileIO) async -> [Sighting]? {
        // A symbolic link without a target also occupies its name.
        let names = requests.map(\.targetPlace) + requests.map(\.checkpointPlace)
        guard let found = try? await files.statuses(of: names, followingLinks: false) else { return nil }
        return requests.indices.map { index in
            let isTidy = if case .success(nil) = found[requests.count + index] { true } else { false }
            return Sighting(target: found[index], mayResume: !isTidy)
        }
    }
}
