import SluiceConcurrency
import SluiceDownloads
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
