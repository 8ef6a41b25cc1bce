import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `Lines that wait for a reader` {
    @Test func `come in their order`() {
        var backlog = LineBacklog(limit: 3)
        backlog.add("a", .news)
        backlog.add("b", .result)
        backlog.add("c", .news)
        backlog.add("d", .news)
        backlog.add("e", .result)
        #expect(backlog.take() == .init(lines: ["a", "b", "c", "d", "e"]))
        #expect(backlog.take() == .init())
    }

    @Test(arguments: [1, 2, 5]) func `keep every result and the latest news`(limit: Int) {
        var backlog = LineBacklog(limit: limit)
        for number in 1...20 { backlog.add("\(number)", number % 4 == 0 ? .result : .news) }
        let news = (1...20).filter { $0 % 4 != 0 }
        let kept = Set(news.suffix(limit))
        let lines = (1...20).filter { $0 % 4 == 0 || kept.contains($0) }.map { "\($0)" }
        #expect(backlog.take() == .init(dropped: news.count - limit, lines: lines))
        // The next batch begins with an empty ring.
        backlog.add("21", .news)
        #expect(backlog.take() == .init(lines: ["21"]))
    }

    private static let error = TransferError(status: .serviceUnavailable, url: URL(string: "http://a.example/x")!)

    @Test func `are no more than the limit while a reader has stopped`() async {
        // Given a reader that has stopped in its first line
        let gate = Gate()
        let written = Monitor("")
        let console = Console { text, _ in
            await gate.pass()
            written.withState { $0 += text }
        }
        let reporter = LineReporter(console: console, formatter: JSONLines(names: ["a", "b"]))
        let job = JobID(rawValue: 1)
        async let writing: Void = reporter.run()
        reporter.report(0, .started(job: job, attempt: 1))
        await gate.arrivals(1)
        // When one download repeats again and again, and another ends
        reporter.report(1, .finished(job: job, outcome: .done(bytes: 3)))
        for _ in 0..<50_000 { reporter.report(0, .retrying(job: job, error: Self.error, delay: .zero)) }
        reporter.announce("message")
        reporter.report(0, .finished(job: job, outcome: .failed(Self.error)))
        reporter.finish(with: nil)
        await gate.open()
        await writing
        // Then
        let lines = written.withState { $0 }.split(separator: "\n")
        let dropped = 50_000 - LineBacklog.newsLimit
        #expect(lines.count == LineBacklog.newsLimit + 5)
        #expect(lines.dropFirst().first == #"{"event":"dropped","lines":\#(dropped)}"#)
        #expect(lines.contains { $0.contains(#""done""#) } && lines.contains { $0.contains(#""message""#) })
        #expect(lines.last?.contains(#""failed""#) == true)
    }

    @Test func `of messages say how many were left out`() {
        #expect(
            PlainLines(names: []).line(forDropped: 2)
                == "sluice: Left out 2 lines about retries because the reader is too slow.\n")
        #expect(ErrorLines().line(forDropped: 2) == nil)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A pipe that nothing reads` {
    private static let count = 1_500

    /// Runs a download of many files. Its output isn't read before all files were requested and `watching` has returned.
    private func run(
        watching: @escaping @Sendable (Process) async -> Void = { _ in }
    ) async throws -> (ended: ChildProgram.Ended, names: [String]) {
        let (asked, allAsked) = (Monitor(0), Condition.makeCondition())
        let (watched, endOfWatch) = Condition.makeCondition()
        return try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                let number = asked.withState { asked in
                    asked += 1
                    return asked
                }
                if number == Self.count { allAsked.signal.signal() }
                return OriginResponse(body: [1, 2, 3])
            } during: { origin in
                let list = directory.appending(path: "list")
                let urls = (1...Self.count).map { origin.url("/\($0)") }.joined(separator: "\n")
                try await Data(urls.utf8).asyncWrite(to: list)
                let files = directory.appending(path: "files")
                let ended = try await ChildProgram.run(
                    #"exec "$@""#,
                    ["get", "--progress", "json", "--durability", "none", "-d", files.path, "-i", list.path]
                ) { process in
                    await allAsked.condition.wait()
                    await watching(process)
                    endOfWatch.signal()
                } readsOutput: {
                    await watched.wait()
                }
                return (ended, try FileManager.default.contentsOfDirectory(atPath: files.path))
            }
        }
    }

    private struct Line: Decodable {
        var event: String
        var index: Int?
        var lines: Int?
        var done: Int?
    }

    @Test func `slows no download, and gets all results in the end`() async throws {
        let (ended, names) = try await run()
        #expect(ended.status == 0 && !ended.wasSignalled && ended.error == "", "\(ended.error)")
        #expect(names.count == Self.count)
        let lines = try ended.output.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        #expect(Set(lines.filter { $0.event == "done" }.compactMap(\.index)).count == Self.count)
        #expect(lines.last?.event == "summary" && lines.last?.done == Self.count)
        // Each file has two pieces of news. What wasn't dropped was written.
        let dropped = lines.compactMap(\.lines).reduce(0, +)
        let news = lines.count { ["started", "responded"].contains($0.event) }
        #expect(dropped > 0 && news + dropped == 2 * Self.count)
    }

    @Test func `delays no second signal`() async throws {
        let (ended, _) = try await run { process in
            // Two kinds: a signal that is pending already isn't sent twice (signal(7)).
            kill(process.processIdentifier, SIGTERM)
            kill(process.processIdentifier, SIGINT)
            await offPool { process.waitUntilExit() }
        }
        #expect(ended.status == 7 && !ended.wasSignalled, "\(ended.error)")
    }
}
