import NativeMark
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceLock

/// Draws bars in place on a terminal, at most 10 times per second. Errors and messages scroll above the bars.
final class BarReporter: ProgressReporter {
    private struct State {
        var board: ProgressBoard
        var pending = ""
        var summary: ProgressSummary?
        var isDrawing = false
        /// Whether another program, such as a shell, may have written to the terminal since the last frame.
        var isDisplaced = false
    }

    private let console: Console
    private let state: Lock<State>
    private let start = ContinuousClock.now
    private let (ended, endSignal) = Condition.makeCondition()

    private static let interval = Duration.milliseconds(100)

    init(console: Console, names: ProgressNames) {
        self.console = console
        state = Lock(State(board: ProgressBoard(names: names)))
    }

    func report(_ index: Int, _ event: DownloadEvent) {
        let time = ContinuousClock.now - start
        let line = ErrorLines().lines(for: event, of: index)
        state.withLock { state in
            state.board.note(event, of: index, at: time)
            if let line { state.pending += line }
        }
    }

    var showsCounts: Bool { true }

    func note(_ counts: [QueuedDownload.State: Int]) {
        state.withLock { $0.board.counts = counts }
    }

    func announce(_ message: String) {
        state.withLock { $0.pending += Console.line(message) }
    }

    func finish(with summary: ProgressSummary?) {
        state.withLock { $0.summary = summary }
        endSignal.signal()
    }

    var responses: Interruption.Responses {
        Interruption.Responses(
            stopping: announceStop,
            leaveTerminal: { [self] in
                if state.withLock({ $0.isDrawing }) { console.emit(TerminalSequence.showCursor, .error) }
            },
            returnToTerminal: { [self] in
                let isDrawing = state.withLock { state in
                    state.isDisplaced = true
                    return state.isDrawing
                }
                if isDrawing { console.emit(TerminalSequence.hideCursor, .error) }
            })
    }

    func run() async {
        var drawn = 0
        // Set before the cursor is hidden: if a signal arrives in between, showing a visible cursor does no harm.
        state.withLock { $0.isDrawing = true }
        await console.write(TerminalSequence.hideCursor, to: .error)
        repeat {
            drawn = await draw(over: drawn)
        } while await !ends(within: Self.interval)
        await close(over: drawn)
    }

    /// Returns whether the downloads have ended.
    private func ends(within interval: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await self.ended.waitUnlessCancelled()) != nil }
            group.addTask {
                try? await Task.sleep(for: interval)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? true
        }
    }

    /// Draws a frame over the last one, which had `drawn` lines, and returns the number of lines of the new frame.
    private func draw(over drawn: Int) async -> Int {
        let (board, pending, drawn) = take(drawn: drawn)
        let frame = BarFrame(
            board: board, size: console.size(), time: .now - start, styled: { self.console.styled($0, $1) })
        let lines = frame.lines
        let text = lines.map { $0 + TerminalSequence.eraseToEndOfLine + "\n" }.joined()
        await console.write(home(over: drawn) + pending + text + TerminalSequence.eraseBelow, to: .error)
        return lines.count
    }

    private func close(over drawn: Int) async {
        let (_, pending, drawn) = take(drawn: drawn)
        let summary = state.withLock { $0.summary }
        let last = summary.map { PlainLines.summary($0, after: .now - start) + "\n" } ?? ""
        await console.write(home(over: drawn) + pending + last + TerminalSequence.showCursor, to: .error)
        state.withLock { $0.isDrawing = false }
    }

    private func home(over drawn: Int) -> String {
        "\r" + TerminalSequence.up(drawn) + TerminalSequence.eraseBelow
    }

    /// Returns the state to draw and the number of lines to draw over, and takes the pending lines.
    private func take(drawn: Int) -> (ProgressBoard, pending: String, drawn: Int) {
        let time = ContinuousClock.now - start
        return state.withLock { state in
            state.board.sample(at: time)
            defer { (state.pending, state.isDisplaced) = ("", false) }
            // After a suspension, the lines above the cursor belong to other programs.
            return (state.board, state.pending, state.isDisplaced ? 0 : drawn)
        }
    }
}

// MARK: - The state

/// The state that the progress bars show. Events update it. The caller passes the times, measured from any fixed start.
struct ProgressBoard: Sendable {
    struct Row: Sendable, Equatable {
        var name: String
        var received: Int64 = 0
        var announced: Int64?
        var resumed: Int64 = 0
        var began: Duration
        var isWaiting = false
    }

    let names: ProgressNames
    /// The number of downloads in each state of a queue.
    var counts: [QueuedDownload.State: Int] = [:]
    private(set) var rows: [Int: Row] = [:]
    private(set) var done = 0
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var retries = 0
    /// The bytes of the finished files, and the bytes that the running ones have so far.
    private(set) var bytes: Int64 = 0
    private var smoothed = SmoothedRate()
    private var sampled: (time: Duration, bytes: Int64)?

    init(names: ProgressNames) {
        self.names = names
    }

    /// The number of files that are done, skipped or failed. Cancelled files count as failed.
    var finished: Int { done + skipped + failed }

    var waiting: Int { rows.values.count(where: \.isWaiting) }

    /// The finished part of all files, from 0 to 1. A running file counts in proportion to its bytes.
    var fraction: Double {
        guard !names.isEmpty else { return 1 }
        let running = rows.values.reduce(0.0) { sum, row in
            guard let announced = row.announced, announced > 0 else { return sum }
            return sum + min(1, Double(row.received) / Double(announced))
        }
        return min(1, (Double(finished) + running) / Double(names.count))
    }

    mutating func note(_ event: DownloadEvent, of index: Int, at time: Duration) {
        switch event {
        case .started:
            forgetBytes(of: index)
            rows[index] = Row(name: names[index], began: time)
        case .responded(_, let announced, let resumed):
            rows[index]?.announced = announced
            rows[index]?.resumed = resumed
            addBytes(resumed, to: index)
        case .named: rows[index]?.name = names[index]
        case .received(_, let count):
            addBytes(count, to: index)
        case .mirrorRejected: break
        case .retrying, .failedOver:
            if case .retrying = event { retries += 1 }
            forgetBytes(of: index)
            // Another worker of the queue may continue the download.
            if names.areOfQueue { rows[index] = nil } else { rows[index]?.isWaiting = true }
        case .paused, .released:
            forgetBytes(of: index)
            rows[index] = nil
        case .finished(_, let outcome):
            switch outcome {
            case .done(let size):
                bytes = bytes.addingClamped(max(0, size)).addingClamped(-(rows[index]?.received ?? 0))
                done += 1
            case .skipped: skipped += 1
            case .failed, .cancelled:
                forgetBytes(of: index)
                failed += 1
            }
            rows[index] = nil
        }
    }

    private mutating func addBytes(_ count: Int64, to index: Int) {
        guard let before = rows[index]?.received else { return }
        bytes += count - before
        rows[index]?.received = count
    }

    private mutating func forgetBytes(of index: Int) {
        bytes -= rows[index]?.received ?? 0
        rows[index]?.received = 0
    }

    /// Records how many bytes there are at this time, for the rate.
    mutating func sample(at time: Duration) {
        if let sampled { smoothed.add(max(0, bytes - sampled.bytes), over: time - sampled.time) }
        sampled = (time, bytes)
    }

    /// The bytes per second over the last few seconds; 0 with fewer than two samples.
    var rate: Double { smoothed.bytesPerSecond ?? 0 }
}

// MARK: - The lines

/// Draws a ``ProgressBoard`` as lines for a terminal: a bar for each running file, and a total at the bottom.
///
/// ```text
/// song-017.wav      ━━━━━━━━━━━━━━──────  71 %   1.4 MB   2.1 MB/s  0:03
/// Total 17/300      ━━━━────────────────  21 %  12.3 MB   4.0 MB/s  0:12 left  2 to try again
/// ```
struct BarFrame {
    var board: ProgressBoard
    var size: Console.Size
    var time: Duration
    var styled: (String, TerminalStyle) -> String

    /// Each line is narrower than the terminal, and together they leave a row for the prompt.
    var lines: [String] {
        let width = max(size.columns - 1, 1)
        let most = max(size.rows - 2, 0)
        let running = board.rows.filter { !$0.value.isWaiting }.sorted { $0.key < $1.key }.map(\.value)
        var shown = running.prefix(most).map { line(for: $0, width: width) }
        let hidden = running.count - shown.count
        if hidden > 0, !shown.isEmpty {
            shown[shown.count - 1] = TerminalText.truncated("… and \(hidden + 1) more", toWidth: width)
        }
        return shown + [board.names.areOfQueue ? queue(width: width) : total(width: width)]
    }

    private func line(for row: ProgressBoard.Row, width: Int) -> String {
        let name = TerminalText.sanitized(row.name)
        let seconds = (time - row.began) / .seconds(1)
        let rate = seconds > 0 ? Double(row.received - row.resumed) / seconds : 0
        var tail = "\(right(Format.bytes(row.received), 8))  \(right(Format.rate(rate), 10))"
        var fraction = 0.0
        if let announced = row.announced {
            fraction = announced > 0 ? min(1, Double(row.received) / Double(announced)) : 1
            tail = "\(right("\(Int(fraction * 100)) %", 5))  \(tail)"
            if rate > 0, announced > row.received {
                tail += "  " + right(Format.clock(seconds: Double(announced - row.received) / rate), 5)
            }
        }
        return compose(name: name, fraction: fraction, tail: tail, width: width, style: .cyan)
    }

    private func total(width: Int) -> String {
        let fraction = board.fraction
        var tail = "\(right("\(Int(fraction * 100)) %", 5))  \(right(Format.bytes(board.bytes), 8))"
        tail += "  \(right(Format.rate(board.rate), 10))"
        let elapsed = time / .seconds(1)
        if fraction > 0, fraction < 1, elapsed >= 1 {
            tail += "  \(Format.clock(seconds: elapsed * (1 - fraction) / fraction)) left"
        }
        if board.waiting > 0 { tail += "  \(board.waiting) to try again" }
        if board.failed > 0 { tail += "  \(board.failed) failed" }
        let name = "Total \(board.finished)/\(board.names.count)"
        return compose(name: name, fraction: fraction, tail: tail, width: width, style: .green)
    }

    /// The counts of a queue, whose end isn't known.
    private func queue(width: Int) -> String {
        var text = "Queue  \(Format.counts(board.counts))"
        text += "  \(Format.bytes(board.bytes))  \(Format.rate(board.rate))"
        return TerminalText.truncated(text, toWidth: width)
    }

    /// On a narrow terminal, there is no bar. On a very narrow one, the numbers are cut off.
    private func compose(name: String, fraction: Double, tail: String, width: Int, style: TerminalStyle) -> String {
        let nameWidth = min(max(width / 4, 12), 40, width)
        let shownName = TerminalText.padded(
            TerminalText.truncated(name, toWidth: nameWidth, at: .middle), toWidth: nameWidth)
        let tailWidth = TerminalText.width(of: tail)
        let barWidth = min(width - nameWidth - tailWidth - 4, 40)
        if barWidth >= 5 { return "\(shownName)  \(bar(fraction, barWidth, style))  \(tail)" }
        return TerminalText.truncated("\(shownName)  \(tail)", toWidth: width)
    }

    private func bar(_ fraction: Double, _ width: Int, _ style: TerminalStyle) -> String {
        let full = min(width, Int(fraction * Double(width)))
        return styled(String(repeating: "━", count: full), style)
            + styled(String(repeating: "─", count: width - full), .dim)
    }

    private func right(_ text: String, _ width: Int) -> String {
        TerminalText.padded(text, toWidth: width, alignment: .trailing)
    }
}
