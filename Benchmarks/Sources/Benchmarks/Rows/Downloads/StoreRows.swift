import Foundation
import SluiceDownloads

/// A queue's file with many jobs that wait: what a claim costs must not grow with them, nor with their users.
enum StoreRows {
    static var all: [Row] { [1, 100, 10_000].map(claim) }

    private static func claim(users: Int) -> Row {
        Row(
            "store/claim of 8, 100,000 jobs waiting, of \(Format.number(Double(users))) users", .microseconds,
            against: "100 jobs waiting", figure: .below(500)
        ) { stage, rounds in
            let count = stage.count(16, quick: 4)
            try await stage.withFolder { folder in
                let many = try await WaitingJobs(stage.count(100_000, quick: 10_000), users: users, in: folder)
                let few = try await WaitingJobs(100, users: 10, in: folder)
                try await rounds({ try await many.claim(times: count) }, { try await few.claim(times: count) })
                try await many.store.close()
                try await few.store.close()
            }
        }
    }
}

/// The jobs of a queue's file, of which a worker claims eight at a time and gives back those that it had before.
private final class WaitingJobs {
    let store: SQLiteQueueStore
    private let worker: QueueWorker
    private let limits: DownloadCoordinator.Limits
    private var held: [JobSettlement] = []

    /// The limit for each user leaves room for eight jobs.
    init(_ count: Int, users: Int, in folder: URL) async throws {
        store = try await SQLiteQueueStore.open(at: folder.appending(path: "\(count).db"))
        worker = try await store.attach()
        limits = DownloadCoordinator.Limits(total: 8, perHost: nil, perUser: users < 8 ? 8 : 1)
        let requests = (0..<count).map { number in
            DownloadRequest(
                URL(string: "https://host.example/\(number)")!, to: folder, name: "\(number)",
                user: "user \(number % users)")
        }
        _ = try await store.enqueue(requests, options: .init())
    }

    func claim(times count: Int) async throws -> Sample {
        try await timed(count, expecting: 8 * count) {
            var claimed = 0
            for _ in 0..<count {
                let claim = JobClaim(worker: worker, count: 8, limits: limits, lease: .seconds(3600))
                let exchange = try await store.exchange(held, claiming: claim)
                held = exchange.claimed.map { JobSettlement(lease: $0.lease, outcome: .released) }
                claimed += exchange.claimed.count
            }
            return claimed
        }
    }
}
