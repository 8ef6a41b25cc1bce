import SluiceConcurrency
import SluiceDownloads
import SluiceLock

/// A full screen that shows a queue until the user quits.
///
/// Three tasks change the state: the reader of the queue, the reader of keys, and signals. A fourth draws the latest state. A slow terminal
/// makes it skip states.
final class WatchScreen: Sendable {
    private struct State {
        var report: QueueReport?
        /// The bytes of the running downloads at a time, to compute the rate.
        var sample: (bytes: [Int64: Int64], time: ContinuousClock.Instant)?
        var rate = 0.0
        var offset = 0
        var isShown = false
        var restoreKeys: (@Sendable () -> Void)?
    }

    private let title: String
    private let console: Console
    private let state = Lock(State())
    /// Tells the drawing task that there is something to draw. One element stands for all changes before it is received.
    private let bell = AsyncBoundedQueue<Void>(capacity: 1, overflow: .dropNewest)

    init(title: String, console: Console) {
        self.title = title
        self.console = console
    }

    /// Returns when the user quits, or when the task is cancelled.
    func show(_ reports: QueueReports) async throws -> ExitStatus {
        let responses = Interruption.Responses(
            leaveTerminal: leave, returnToTerminal: enter, resized: { [self] in ring() })
        return try await console.interruption.responding(responses) { [self] in
            enter()
            // The terminal is restored after a failure, too.
            defer { leave() }
            return try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
                group.addTask { [self] in
                    try await follow(reports)
                    return nil
                }
                group.addTask { [self] in try await readKeys() ? .success : nil }
                group.addTask { [self] in
                    await draw()
                    return Task.isCancelled ? .interrupted : nil
                }
                defer { group.cancelAll() }
                for try await status in group {
                    if let status { return status }
                }
                return .interrupted
            }
        }
    }

    // MARK: The terminal

    private func enter() {
        let restore = console.takeKeys()
        state.withLock { state in
            state.isShown = true
            state.restoreKeys = restore
        }
        console.emit(TerminalSequence.enterAlternateScreen + TerminalSequence.hideCursor, .output)
        ring()
    }

    private func leave() {
        let (wasShown, restore) = state.withLock { state in
            defer { (state.isShown, state.restoreKeys) = (false, nil) }
            return (state.isShown, state.restoreKeys)
        }
        guard wasShown else { return }
        console.emit(TerminalSequence.showCursor + TerminalSequence.leaveAlternateScreen, .output)
        restore?()
    }

    // MARK: The state

    private func ring() {
        // If the queue is full, the drawing task is already told.
        _ = bell.trySend(())
    }

    private func follow(_ reports: QueueReports) async throws {
        // Delays count down, and the rate falls to zero, without a change of the queue.
        try await reports.forEach(onlyChanged: false) { report in
            let time = ContinuousClock.now
            state.withLock { state in
                state.report = report
                let bytes = Dictionary(
                    report.running.map { ($0.id, $0.received ?? 0) }, uniquingKeysWith: { first, _ in first })
                guard let sample = state.sample else { return state.sample = (bytes, time) }
                let seconds = (time - sample.time) / .seconds(1)
                guard seconds >= 0.9 else { return }
                let gain = bytes.reduce(0) { $0 + max(0, $1.value - (sample.bytes[$1.key] ?? $1.value)) }
                state.rate = Double(gain) / seconds
                state.sample = (bytes, time)
            }
            ring()
            return true
        }
    }

    /// Returns whether the user has quit; `false` at the end of the input.
    private func readKeys() async throws -> Bool {
        var keys = WatchKeys()
        while true {
            // Input that can't be read is as good as none: Ctrl-C still works.
            guard let bytes = try? await console.readKeys(), !bytes.isEmpty else { return false }
            for key in keys.read(bytes) {
                if key == .quit { return true }
                scroll(by: key)
            }
            ring()
        }
    }

    private func scroll(by key: WatchKey) {
        let frame = frame
        let page = max(frame.roomForTable - 1, 1)
        state.withLock { state in
            let offset = min(state.offset, frame.largestOffset)
            let wanted =
                switch key {
                case .up: offset - 1
                case .down: offset + 1
                case .pageUp: offset - page
                case .pageDown: offset + page
                case .first: 0
                case .last: frame.largestOffset
                case .quit: offset
                }
            state.offset = min(max(wanted, 0), frame.largestOffset)
        }
    }

    // MARK: Drawing

    private var frame: WatchFrame {
        let size = console.outputSize() ?? Console.Size(columns: 80, rows: 24)
        return state.withLock {
            WatchFrame(title: title, report: $0.report, rate: $0.rate, size: size, offset: $0.offset)
        }
    }

    private func draw() async {
        for await _ in bell.elements {
            guard state.withLock({ $0.isShown }) else { continue }
            // The last line has no line feed, which would scroll the screen.
            let text = frame.lines.map { $0 + TerminalSequence.eraseToEndOfLine }.joined(separator: "\r\n")
            await console.write(TerminalSequence.home + text, to: .output)
        }
    }
}
