import Foundation
import HTTPTypes
import SluiceDownloads
import SluiceService

/// The page of a queue that people look at while workers use it.
enum PageRows {
    static var all: [Row] { [firstPage, beside] }

    private static var firstPage: Row {
        Row("page/first page, 1,000,000 downloads", .milliseconds, against: "1,000 downloads", figure: .below(300)) {
            stage, rounds in
            let times = stage.count(10, quick: 2)
            try await stage.withDirectory { directory in
                let many = try await FailingJobs(stage.count(1_000_000, quick: 10_000), users: 100, in: directory)
                let few = try await FailingJobs(1_000, users: 100, in: directory)
                try await rounds(
                    { try await shown(many.downloads, times: times) }, { try await shown(few.downloads, times: times) })
                try await many.downloads.close()
                try await few.downloads.close()
            }
        }
    }

    /// Gets the first page. A new page object each time, because a page keeps its answers for a second.
    static func shown(_ downloads: DownloadCoordinator, times: Int) async throws -> Sample {
        try await timed(times, expecting: times) {
            var count = 0
            for _ in 0..<times {
                let response = await QueuePage(downloads).response(to: .list)
                if response.head.status == .ok { count += 1 }
            }
            return count
        }
    }

    /// The worker does nothing but claim and settle jobs, so it meets the pages as often as possible.
    private static var beside: Row {
        Row(
            "page/jobs that fail, beside 50 open pages", .perSecond("jobs"), against: "the same without pages",
            figure: .atLeast(0.95)
        ) { stage, rounds in
            let times = stage.count(400, quick: 8)
            try await stage.withDirectory { directory in
                let jobs = try await FailingJobs(10_000, users: 100, in: directory)
                let watched = DownloadCoordinator(store: .sqlite(at: directory.appending(path: jobs.name)))
                func work() async throws -> Sample {
                    try await jobs.enqueue(8 * times)
                    var sample = try await jobs.work(times: times)
                    sample.operations *= 8
                    return sample
                }
                try await rounds(
                    {
                        let page = QueuePage(watched)
                        let pages = Task {
                            await withDiscardingTaskGroup { group in
                                for _ in 0..<50 { group.addTask { await look(at: page) } }
                            }
                        }
                        let sample = try await work()
                        pages.cancel()
                        await pages.value
                        return sample
                    }, { try await work() })
                try await watched.close()
                try await jobs.downloads.close()
            }
        }
    }

    /// What the script of an open page does: after a change, it gets the page again, at most once a second.
    private static func look(at page: QueuePage) async {
        guard case .stream(let changes) = await page.response(to: .stream).body else { return }
        do {
            for try await _ in changes {
                _ = await page.response(to: .list)
                try await Task.sleep(for: .seconds(1))
            }
        } catch {
            // The round is over.
        }
    }
}

extension HTTPRequest {
    fileprivate static let list = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
    fileprivate static let stream = HTTPRequest(
        method: .get, scheme: "http", authority: "localhost", path: "/api/v1/stream")
}
