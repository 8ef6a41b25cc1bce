import Foundation
import HTTPTypes
import NativeMark
import SluiceDownloads
import SluiceHTTP
import Testing

@testable import SluiceCommands

/// The board does not look at it.
private let job = JobID(rawValue: 1)

@Suite struct `Showing progress` {
    static let error = TransferError(status: .notFound, url: URL(string: "http://a.example/x")!)

    /// A board in the middle of things: one file done, one running, one waiting, one of unknown length.
    func board() -> ProgressBoard {
        var board = ProgressBoard(names: ["done.mp3", "日本の歌 (live).mp3", "waiting.mp3", "unknown.bin", "later.mp3"])
        board.note(.started(job: job, attempt: 1), of: 0, at: .zero)
        board.note(.finished(job: job, outcome: .done(bytes: 1_000_000)), of: 0, at: .seconds(1))
        board.note(.started(job: job, attempt: 1), of: 1, at: .seconds(1))
        board.note(.responded(job: job, announced: 4_000_000, resumed: 0), of: 1, at: .seconds(1))
        board.note(.received(job: job, bytes: 1_000_000), of: 1, at: .seconds(2))
        board.note(.started(job: job, attempt: 1), of: 2, at: .seconds(1))
        board.note(.received(job: job, bytes: 500), of: 2, at: .seconds(1))
        board.note(.retrying(job: job, error: Self.error, delay: .seconds(1)), of: 2, at: .seconds(2))
        board.note(.started(job: job, attempt: 1), of: 3, at: .seconds(1))
        board.note(.received(job: job, bytes: 2_000_000), of: 3, at: .seconds(3))
        board.sample(at: .seconds(1))
        return board
    }

    func frame(columns: Int, rows: Int = 24) -> [String] {
        BarFrame(
            board: board(), size: .init(columns: columns, rows: rows), time: .seconds(3), styled: { text, _ in text }
        )
        .lines
    }

    @Test func `a frame has a bar for each running file and one in total`() {
        #expect(
            frame(columns: 100) == [
                "日本の歌 (live).mp3       ━━━━━━━━━────────────────────────────   25 %    1.0 MB  500.0 kB/s   0:06",
                "unknown.bin               ────────────────────────────────────────    2.0 MB    1.0 MB/s",
                "Total 1/5                 ━━━━─────────────   25 %    4.0 MB       0 B/s  0:09 left  1 to try again",
            ])
    }

    @Test(arguments: [1, 5, 20, 40, 80, 120, 300]) func `no line is as wide as the terminal`(columns: Int) {
        for line in frame(columns: columns) { #expect(TerminalText.width(of: line) < max(columns, 2)) }
    }

    @Test func `a low terminal shows as many bars as fit, and says how many more there are`() {
        let lines = frame(columns: 80, rows: 3)
        #expect(lines.count == 2)
        #expect(lines[0] == "… and 2 more")
        #expect(frame(columns: 80, rows: 1).count == 1)
    }

    @Test func `bytes of a failed attempt are no progress`() {
        #expect(board().bytes == 4_000_000)
        var board = board()
        board.note(.finished(job: job, outcome: .failed(Self.error)), of: 3, at: .seconds(4))
        #expect(board.bytes == 2_000_000)
        #expect(board.failed == 1 && board.retries == 1)
    }

    @Test func `the fraction counts finished files and parts of running ones`() {
        #expect(abs(board().fraction - (1 + 0.25) / 5) < 1e-9)
        #expect(ProgressBoard(names: []).fraction == 1)
    }

    @Test func `the rate looks back a few seconds`() {
        var board = ProgressBoard(names: ["a"])
        board.note(.started(job: job, attempt: 1), of: 0, at: .zero)
        for second in 0...10 {
            // 1 MB a second, and from the fifth on 3.
            board.note(
                .received(job: job, bytes: Int64(second <= 5 ? second : second * 3 - 10) * 1_000_000), of: 0, at: .zero)
            board.sample(at: .seconds(second))
        }
        #expect(board.rate == 3_000_000)
        #expect(board.samples.count <= 5)
    }

    @Test func `an announced length of any size is drawn`() {
        var board = ProgressBoard(names: ["a"])
        board.note(.started(job: job, attempt: 1), of: 0, at: .zero)
        board.note(.responded(job: job, announced: .max, resumed: 0), of: 0, at: .zero)
        board.note(.received(job: job, bytes: 1), of: 0, at: .zero)
        board.sample(at: .seconds(100))
        let lines = BarFrame(
            board: board, size: .init(columns: 120, rows: 24), time: .seconds(100), styled: { text, _ in text }
        ).lines
        #expect(lines[0].contains(">99 h") && lines[1].contains(">99 h left"))
    }

    @Test func `a hostile name cannot move the cursor`() {
        var board = ProgressBoard(names: ["\u{1B}[2J\nx"])
        board.note(.started(job: job, attempt: 1), of: 0, at: .zero)
        let lines = BarFrame(
            board: board, size: .init(columns: 80, rows: 24), time: .seconds(1), styled: { text, _ in text }
        )
        .lines
        #expect(lines.allSatisfy { !$0.contains("\u{1B}") && !$0.contains("\n") })
    }
}
