import Foundation
import SluiceConcurrency
import SluiceDownloads

/// A queue on disk with many waiting jobs. The cost of a job must not grow with the number of waiting jobs or users.
enum StoreRows {
    static var all: [Row] { [1, 100, 10_000].map(row) + [enqueueing] }

    private static var enqueueing: Row {
        Row(
            "store/enqueue 500 requests, 100,000 jobs waiting", .milliseconds, against: "500 jobs waiting",
            figure: .below(10)
        ) { stage, rounds in
            let count = stage.count(4, quick: 2)
            try await stage.withDirectory { directory in
                let many = try await FailingJobs(stage.count(100_000, quick: 10_000), users: 100, in: directory)
                let few = try await FailingJobs(500, users: 100, in: directory)
                try await rounds(
                    { try await many.enqueueTimed(times: count) }, { try await few.enqueueTimed(times: count) })
                try await many.downloads.close()
                try await few.downloads.close()
            }
        }
    }

    private static func row(users: Int) -> Row {
        Row(
            "store/8 jobs that fail, 100,000 jobs waiting, of \(Format.number(Double(users))) users", .microseconds,
            against: "128 jobs waiting", figure: .atMost(1.5)
        ) { stage, rounds in
            let count = stage.count(16, quick: 4)
            try await stage.withDirectory { directory in
                let many = try await FailingJobs(stage.count(100_000, quick: 10_000), users: users, in: directory)
                let few = try await FailingJobs(0, users: 10, in: directory)
                try await rounds(
                    { try await many.work(times: count) },
                    {
                        try await few.enqueue(8 * count)
                        return try await few.work(times: count)
                    })
                try await many.downloads.close()
                try await few.downloads.close()
            }
        }
    }
}

/// The jobs of a queue. Each job fails before its request, so only the queue is measured: claiming jobs and recording their outcomes.
final class FailingJobs {
    private struct Refusal: Error {}

    let name: String
    let downloads: DownloadCoordinator
    private let users: Int
    private let directory: URL
    private let isRelative: Bool
    private var enqueued = 0

    /// Creates the queue, with limits per user that allow eight running jobs.
    ///
    /// The store is `store`, whose jobs can run on any machine, or a database in `directory`.
    init(
        _ count: Int, users: Int, in directory: URL, name: String? = nil, store: DownloadStore? = nil
    ) async throws {
        self.name = name ?? "\(count).db"
        self.users = users
        self.directory = directory
        isRelative = store != nil
        downloads = DownloadCoordinator(
            store: store ?? .sqlite(at: directory.appending(path: self.name)),
            limits: .init(total: 8, perHost: nil, perUser: Self.perUser(users)),
            configuration: .init(directory: directory, headerFields: { _ in throw Refusal() }))
        for start in stride(from: 0, to: count, by: 10_000) { try await enqueue(min(10_000, count - start)) }
    }

    /// The limit per user that allows eight running jobs.
    static func perUser(_ users: Int) -> Int { users < 8 ? 8 : 1 }

    func enqueue(_ count: Int) async throws { try await downloads.enqueue(requests(count)) }

    /// Returns requests for new jobs. The users take turns.
    func requests(_ count: Int) -> [DownloadRequest] {
        defer { enqueued += count }
        return (enqueued..<enqueued + count).map { number in
            let url = URL(string: "https://host.example/\(number)")!
            let user = "user \(number % users)"
            return isRelative
                ? try! DownloadRequest(url, below: "", name: "\(number)", user: user)
                : DownloadRequest(url, to: directory, name: "\(number)", user: user)
        }
    }

    /// Enqueues 500 requests `count` times.
    func enqueueTimed(times count: Int) async throws -> Sample {
        try await timed(count, expecting: enqueued + 500 * count) {
            for _ in 0..<count { try await enqueue(500) }
            return enqueued
        }
    }

    /// Runs the queue until eight times `count` jobs have ended. Eight jobs are one operation.
    func work(times count: Int) async throws -> Sample {
        let ends = AsyncQueue<Void>()
        return try await timed(count, expecting: 8 * count) { [downloads] in
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await downloads.run { event in
                        if case .finished = event { ends.enqueue(()) }
                    }
                }
                var seen = 0
                while seen < 8 * count, try await ends.dequeue() != nil { seen += 1 }
                group.cancelAll()
                return seen
            }
        }
    }
}
