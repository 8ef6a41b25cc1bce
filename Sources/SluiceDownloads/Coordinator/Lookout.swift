import SluiceFiles
import SluiceLock

/// What is at the names of jobs, looked up for many at a time: a look for each small file would cost a switch of thread,
/// and that a tenth of its transfer.
final class Lookout: Sendable {
    /// What was found.
    struct Sighting: Sendable {
        var target: Result<FileStatus?, FileError>
        /// Whether an earlier attempt may have left something.
        var mayResume: Bool

        /// Whether the target is there and nothing else.
        var isThereAndTidy: Bool {
            if case .success(.some) = target { !mayResume } else { false }
        }
    }

    private let sightings = Lock<[JobID: Sighting]>([:])

    /// How many are looked up at once.
    private static let batch = 256

    /// What was seen ahead, for the job's first attempt.
    func take(_ job: JobID) -> Sighting? {
        sightings.withLock { $0.removeValue(forKey: job) }
    }

    /// Keeps what was seen for the job's first attempt.
    func note(_ sighting: Sighting, of job: JobID) {
        sightings.withLock { $0[job] = sighting }
    }

    /// Looks ahead for a list that is about to be claimed, in order. What appears after that is found when the file is to
    /// get its name.
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

    /// Looks at many requests, in order, and tells of each by its offset. Ends early if the task is cancelled.
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

    /// Nil if the task is cancelled.
    static func look(at requests: [DownloadRequest], _ files: FileIO) async -> [Sighting]? {
        // A symbolic link that leads nowhere occupies its name, too.
        let names = requests.map(\.targetPlace) + requests.map(\.checkpointPlace)
        guard let found = try? await files.statuses(of: names, followingLinks: false) else { return nil }
        return requests.indices.map { index in
            let isTidy = if case .success(nil) = found[requests.count + index] { true } else { false }
            return Sighting(target: found[index], mayResume: !isTidy)
        }
    }
}
