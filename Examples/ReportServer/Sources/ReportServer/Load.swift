import SluiceConcurrency
import Synchronization

/// Sends a thousand requests, and checks what the server promises.
@main
struct Load {
    static func main() async throws {
        try await completeLoad()
        try await shutdownDuringLoad()
    }

    private static func completeLoad() async throws {
        let server = ReportServer(rates: ["reports": 2_000, "exports": 500])
        let answers = Answers()
        let subscription = server.subscribe()
        async let reported = { () -> (received: Int, missed: Int) in
            var counts = (received: 0, missed: 0)
            for await delivery in subscription {
                switch delivery {
                case .value: counts.received += 1
                case .missed(let count): counts.missed += count
                }
            }
            return counts
        }()

        let requests = send(to: server, answers)
        await requests.value
        await server.shutDown(cancelling: requests)

        let counts = server.gauge.counts
        let (received, missed) = await reported
        print("1,000 requests:", answers.summary)
        print(
            "\(counts.renderings) renderings, at most \(counts.maximumPerUser) per user and \(counts.maximum) in total")
        print("A subscriber received \(received) reports and missed \(missed).")
        try check(counts.maximumPerUser <= 2 && counts.maximum <= 16, "more renderings than the limits allow")
        try check(received + missed == counts.renderings, "reports that no subscriber heard of")
        try check(answers.count == 1_000, "requests without an answer")
        let late = try await server.handle(Request(user: "ann", api: "reports", report: "late"))
        try check(late.status == 503, "a request was accepted after the shutdown")
    }

    private static func shutdownDuringLoad() async throws {
        let server = ReportServer(rates: ["reports": 2_000, "exports": 500])
        let answers = Answers()
        let requests = send(to: server, answers)
        try await Task.sleep(for: .milliseconds(50))
        await server.shutDown(cancelling: requests)
        print("A shutdown during the load:", answers.summary)
        try check(answers.count == 1_000, "requests without an answer")
    }

    /// Sends a thousand requests concurrently. A third of them come from one user.
    private static func send(to server: ReportServer, _ answers: Answers) -> Task<Void, Never> {
        Task {
            await withDiscardingTaskGroup { group in
                for number in 0..<1_000 {
                    let request = Request(
                        user: number % 3 == 0 ? "ann" : "user \(number % 40)",
                        api: number % 2 == 0 ? "reports" : "exports", report: "report \(number % 7)")
                    group.addTask {
                        let answer = try? await server.handle(request)
                        answers.add(answer ?? Response(status: 499, body: "cancelled"))
                    }
                }
            }
        }
    }

    private static func check(_ condition: Bool, _ problem: String) throws {
        if !condition { throw Wrong(description: problem) }
    }
}

struct Wrong: Error, CustomStringConvertible {
    var description: String
}

/// The number of answers of each kind.
final class Answers: Sendable {
    private let counts = Mutex<[Response: Int]>([:])

    var count: Int { counts.withLock { $0.values.reduce(0, +) } }

    var summary: String {
        counts.withLock { counts in
            Dictionary(grouping: counts, by: { $0.key.status == 200 ? "200" : "\($0.key.status) \($0.key.body)" })
                .map { "\($0.value.reduce(0) { $0 + $1.value }) × \($0.key)" }.sorted().joined(separator: ", ")
        }
    }

    func add(_ response: Response) {
        counts.withLock { $0[response, default: 0] += 1 }
    }
}
