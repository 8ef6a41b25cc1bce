import SluiceConcurrency
import SluiceDownloads
import SluiceLock

/// Draws bars in place on a terminal, at most 10 times a second. Errors and messages scroll by above them.
final class BarReporter: ProgressReporter {
    private struct State {
        var board: ProgressBoard
        /// Lines to print once, above the bars.
        var pending = ""
        var summary: DownloadSummary?
        /// Whether the cursor is hidden.
        var isDrawing = false
        /// Whether something else, such as a shell, wrote on the terminal since the last frame.
        var isDisplaced = false
    }

    private let console: Console
    private let state: Lock<State>
    private let start = ContinuousClock.now
    private let (ended, endSignal) = Condition.makeCondition()

    /// The time between two frames.
    private static let interval = Duration.milliseconds(100)

    init(console: Console, names: [String]) {
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

    func announce(_ message: String) {
        state.withLock { $0.pending += Console.line(message) }
    }

    func finish(with summary: DownloadSummary?) {
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
        // Before the cursor is hidden: a signal in between shows it once too often, which does no harm.
        state.withLock { $0.isDrawing = true }
        await console.write(TerminalSequence.hideCursor, to: .error)
        repeat {
            drawn = await draw(over: drawn)
        } while await !ends(within: Self.interval)
        await close(over: drawn)
    }

    /// Waits for the end, or for the next frame's time; whether it is the end.
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

    /// Draws a frame over the last one, which had this many lines; returns how many it has.
    private func draw(over drawn: Int) async -> Int {
        let (board, pending, drawn) = take(drawn: drawn)
        let frame = BarFrame(
            board: board, size: console.size(), time: .now - start, styled: { self.console.styled($0, $1) })
        let lines = frame.lines
        let text = lines.map { $0 + TerminalSequence.eraseToEndOfLine + "\n" }.joined()
        await console.write(home(over: drawn) + pending + text + TerminalSequence.eraseBelow, to: .error)
        return lines.count
    }

    /// Replaces the bars by what is left to say.
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

    /// What to draw, and over how many lines.
    private func take(drawn: Int) -> (ProgressBoard, pending: String, drawn: Int) {
        let time = ContinuousClock.now - start
        return state.withLock { state in
            state.board.sample(at: time)
            defer { (state.pending, state.isDisplaced) = ("", false) }
            // Above the cursor are now the lines of others.
            return (state.board, state.pending, state.isDisplaced ? 0 : drawn)
        }
    }
}
