import Foundation
import HTTPTypes
import LoopbackOrigin
import NativeMark
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

/// The board ignores it.
private let job = JobID(rawValue: 1)

@Suite struct `Showing progress` {
    static let error = TransferError(status: .notFound, url: URL(string: "http://a.example/x")!)

    /// A board in the middle of a run: one file done, one running, one waiting, one of unknown length.
    func board() -> ProgressBoard {
        var board = ProgressBoard(names: ["done.mp3", "日本の歌 (live).mp3", "waiting.mp3", "unknown.bin", "later.mp3"])
        board.note(.started(download: job, attempt: 1), of: 0, at: .zero)
        board.note(.finished(download: job, outcome: .done(fileSize: 1_000_000)), of: 0, at: .seconds(1))
        board.note(.started(download: job, attempt: 1), of: 1, at: .seconds(1))
        board.note(.responded(download: job, totalBytes: 4_000_000, resumedBytes: 0), of: 1, at: .seconds(1))
        board.note(.received(download: job, receivedBytes: 1_000_000), of: 1, at: .seconds(2))
        board.note(.started(download: job, attempt: 1), of: 2, at: .seconds(1))
        board.note(.received(download: job, receivedBytes: 500), of: 2, at: .seconds(1))
        board.note(.retrying(download: job, error: Self.error, delay: .seconds(1)), of: 2, at: .seconds(2))
        board.note(.started(download: job, attempt: 1), of: 3, at: .seconds(1))
        board.note(.received(download: job, receivedBytes: 2_000_000), of: 3, at: .seconds(3))
        board.sample(at: .seconds(1))
        return board
    }

    func frame(columns: Int, rows: Int = 24) -> [String] {
        BarFrame(
            board: board(), size: .init(columns: columns, rows: rows), time: .seconds(3), styled: { text, _ in text }
        )
        .lines
    }

    @Test func `a frame has a bar for each running file and one for the total`() {
        #expect(
            frame(columns: 100) == [
                "日本の歌 (live).mp3       ━━━━━━━━━────────────────────────────   25 %    1.0 MB  500.0 kB/s   0:06",
                "unknown.bin               ────────────────────────────────────────    2.0 MB    1.0 MB/s",
                "Total 1/5                 ━━━━─────────────   25 %    4.0 MB       0 B/s  0:09 left  1 to try again",
            ])
    }

    @Test(arguments: [1, 5, 20, 40, 80, 120, 300]) func `every line is narrower than the terminal`(columns: Int) {
        for line in frame(columns: columns) { #expect(TerminalText.width(of: line) < max(columns, 2)) }
    }

    @Test func `a low terminal shows as many bars as fit, and the number of the others`() {
        let lines = frame(columns: 80, rows: 3)
        #expect(lines.count == 2)
        #expect(lines[0] == "… and 2 more")
        #expect(frame(columns: 80, rows: 1).count == 1)
    }

    @Test func `bytes of a failed attempt don't count as progress`() {
        #expect(board().bytes == 4_000_000)
        var board = board()
        board.note(.finished(download: job, outcome: .failed(Self.error)), of: 3, at: .seconds(4))
        #expect(board.bytes == 2_000_000)
        #expect(board.failed == 1 && board.retries == 1)
    }

    @Test func `the fraction counts finished files and parts of running ones`() {
        #expect(abs(board().fraction - (1 + 0.25) / 5) < 1e-9)
        #expect(ProgressBoard(names: []).fraction == 1)
    }

    @Test func `the rate covers the last few seconds`() {
        var board = ProgressBoard(names: ["a"])
        board.note(.started(download: job, attempt: 1), of: 0, at: .zero)
        for second in 0...10 {
            // 1 MB per second, and 3 MB per second from the fifth second on.
            board.note(
                .received(download: job, receivedBytes: Int64(second <= 5 ? second : second * 3 - 10) * 1_000_000),
                of: 0,
                at: .zero)
            board.sample(at: .seconds(second))
        }
        #expect((2_600_000..<3_000_000).contains(board.rate))
    }

    @Test func `an announced length of any size can be drawn`() {
        var board = ProgressBoard(names: ["a"])
        board.note(.started(download: job, attempt: 1), of: 0, at: .zero)
        board.note(.responded(download: job, totalBytes: .max, resumedBytes: 0), of: 0, at: .zero)
        board.note(.received(download: job, receivedBytes: 1), of: 0, at: .zero)
        board.sample(at: .seconds(100))
        let lines = BarFrame(
            board: board, size: .init(columns: 120, rows: 24), time: .seconds(100), styled: { text, _ in text }
        ).lines
        #expect(lines[0].contains(">99 h") && lines[1].contains(">99 h left"))
    }

    @Test func `a hostile name can't move the cursor`() {
        var board = ProgressBoard(names: ["\u{1B}[2J\nx"])
        board.note(.started(download: job, attempt: 1), of: 0, at: .zero)
        let lines = BarFrame(
            board: board, size: .init(columns: 80, rows: 24), time: .seconds(1), styled: { text, _ in text }
        )
        .lines
        #expect(lines.allSatisfy { !$0.contains("\u{1B}") && !$0.contains("\n") })
    }
}

@Suite struct `Numbers for people` {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
            (64_000_000, "64.0 MB"), (1_234_567_890, "1.2 GB"), (Int64.max, "9.2 EB"),
        ] as [(Int64, String)])
    func `a number of bytes has a unit and at most one decimal`(count: Int64, text: String) {
        #expect(Format.bytes(count) == text)
    }

    @Test(
        arguments: [
            (.zero, "0:00"), (.seconds(7.9), "0:07"), (.seconds(754), "12:34"), (.seconds(3723), "1:02:03"),
            (.seconds(-5), "0:00"),
        ] as [(Duration, String)])
    func `a duration is shown as on a clock`(duration: Duration, text: String) {
        #expect(Format.clock(duration) == text)
    }

    @Test(
        arguments: [
            (.zero, "0.0 s"), (.seconds(0.84), "0.8 s"), (.milliseconds(59_949), "59.9 s"),
            (.milliseconds(59_951), "1:00"), (.milliseconds(59_999), "1:00"), (.seconds(60), "1:00"),
            (.milliseconds(123_900), "2:03"),
        ] as [(Duration, String)])
    func `a short time has one decimal, and from a minute on it is a clock's`(duration: Duration, text: String) {
        #expect(Format.elapsed(duration) == text)
    }

    @Test func `an impossible rate is still shown`() {
        #expect(Format.rate(-1) == "0 B/s")
        #expect(Format.rate(.infinity) == "1.0 EB/s")
    }

    @Test func `the exit status of a mixed run is the most urgent status`() {
        #expect(ExitStatus.worst(of: []) == .success)
        #expect(ExitStatus.worst(of: [.network, .http]) == .http)
        #expect(ExitStatus.worst(of: [.network, .http, .tls, .authentication, .content, .localFile, .store]) == .store)
        #expect(ExitStatus.worst(of: [.other, .network]) == .network)
    }
}

@Suite struct `Lines that wait for a reader` {
    @Test func `waiting lines keep their order`() {
        var backlog = LineBacklog(limit: 3)
        backlog.add("a", .news)
        backlog.add("b", .result)
        backlog.add("c", .news)
        backlog.add("d", .news)
        backlog.add("e", .result)
        #expect(backlog.take() == .init(lines: ["a", "b", "c", "d", "e"]))
        #expect(backlog.take() == .init())
    }

    @Test(arguments: [1, 2, 5]) func `every result and the latest news are kept`(limit: Int) {
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

    @Test func `while a reader has stopped, the number of waiting lines is limited`() async {
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
        reporter.report(0, .started(download: job, attempt: 1))
        await gate.arrivals(1)
        // When one download repeats again and again, and another ends
        reporter.report(1, .finished(download: job, outcome: .done(fileSize: 3)))
        for _ in 0..<50_000 { reporter.report(0, .retrying(download: job, error: Self.error, delay: .zero)) }
        reporter.announce("message")
        reporter.report(0, .finished(download: job, outcome: .failed(Self.error)))
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

    @Test func `messages say how many lines were left out`() {
        #expect(
            PlainLines(names: []).line(forDropped: 2)
                == "sluice: Left out 2 lines about retries because the reader is too slow.\n")
        #expect(ErrorLines().line(forDropped: 2) == nil)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `A pipe that nothing reads` {
    private static let count = 1_500

    /// Runs a download of many files. Its output isn't read until all files have been requested and `watching` has returned.
    private func run(
        watching: @escaping @Sendable (ChildProcess) async -> Void = { _ in }
    ) async throws -> (ended: ChildProcess.End, names: [String]) {
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
                let ended = try await ChildProcess.sluice(
                    ["get", "--progress", "json", "--durability", "none", "-d", files.path, "-i", list.path]
                ) { process in
                    await allAsked.condition.wait()
                    await watching(process)
                    endOfWatch.signal()
                } readable: {
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

    @Test func `a pipe that nothing reads slows no download, and gets all results in the end`() async throws {
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

    @Test func `a pipe that nothing reads doesn't delay a second signal`() async throws {
        let (ended, _) = try await run { process in
            // Two different signals, because a signal that is already pending isn't sent twice (signal(7)).
            process.signal(SIGTERM)
            process.signal(SIGINT)
            await process.exit()
        }
        #expect(ended.status == 7 && !ended.wasSignalled, "\(ended.error)")
    }
}
