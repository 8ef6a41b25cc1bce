import NativeMark
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A full screen that shows a queue until the user quits.
///
/// One task reads the queue, one reads keys, and a third draws the latest state. If the terminal is slow, the third task skips states.
/// Signals change the state, too, on the thread that waits for them.
final class WatchScreen: Sendable {
    private struct State {
        var report: QueueReport?
        /// The bytes of the running downloads, and when they were read.
        var sample: (bytes: [Int64: Int64], time: ContinuousClock.Instant)?
        var rate = SmoothedRate()
        var offset = 0
        var isShown = false
        var restoreKeys: (@Sendable () -> Void)?
    }

    private let title: String
    private let console: Console
    private let state = Lock(State())
    /// Tells the drawing task that there is something to draw. One element stands for all changes that were made before it is received.
    private let bell = AsyncBoundedQueue<Void>(capacity: 1, overflow: .dropNewest)

    init(title: String, console: Console) {
        self.title = title
        self.console = console
    }

    /// Shows the queue until the user quits or the task is cancelled.
    func show(_ reports: QueueReports) async throws -> ExitStatus {
        let responses = Interruption.Responses(
            leaveTerminal: leave, returnToTerminal: enter, resized: { [self] in ring() })
        return try await console.interruption.responding(responses) { [self] in
            enter()
            // Restore the terminal even after a failure.
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
        // If the bell's queue is full, the drawing task has been told already.
        _ = bell.trySend(())
    }

    private func follow(_ reports: QueueReports) async throws {
        // Unchanged states count, too: delays count down, and the rate falls.
        try await reports.forEach(onlyChanged: false) { report in
            let time = ContinuousClock.now
            state.withLock { state in
                state.report = report
                let bytes = Dictionary(
                    report.running.map { ($0.id, max(0, $0.receivedBytes ?? 0)) },
                    uniquingKeysWith: { first, _ in first })
                if let sample = state.sample, !bytes.isEmpty {
                    let gain = bytes.reduce(Int64(0)) { sum, row in
                        sum.addingClamped(max(0, row.value - (sample.bytes[row.key] ?? row.value)))
                    }
                    state.rate.add(gain, over: time - sample.time)
                } else {
                    state.rate = SmoothedRate()
                }
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
            // If the input can't be read, there are no keys, but Ctrl-C still works.
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
            WatchFrame(
                title: title, report: $0.report, rate: $0.rate.bytesPerSecond ?? 0, size: size, offset: $0.offset)
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

/// The lines of a full screen that shows a queue: a heading, the part of the table that fits, and the keys.
struct WatchFrame {
    var title: String
    /// `nil` before the first state.
    var report: QueueReport?
    /// The bytes per second of all running downloads.
    var rate = 0.0
    var size: Console.Size
    /// The first line of the table to show. It is limited so that the table fills the screen.
    var offset = 0
    var now = Date.now

    /// One line for each row of the screen, none wider than the screen.
    var lines: [String] {
        let width = max(size.columns, 1)
        guard let report, size.rows > 3 else {
            let text = report.map { $0.countsText } ?? "Opening \(TerminalText.sanitized(title))"
            return filled([TerminalText.truncated(text, toWidth: width)], to: size.rows)
        }
        let table = QueueTable(report: report, width: width, now: now).sections
        let room = roomForTable
        let start = min(max(offset, 0), max(table.count - room, 0))
        let shown = Array(table[start..<min(start + room, table.count)])
        let head = "\(TerminalText.sanitized(title)): \(report.countsText)" + (rate > 0 ? "  \(Format.rate(rate))" : "")
        let place = table.count > room ? "   lines \(start + 1) to \(start + shown.count) of \(table.count)" : ""
        let body =
            [TerminalText.truncated(head, toWidth: width), ""] + (table.isEmpty ? ["The queue is empty."] : shown)
        return filled(body, to: size.rows - 1)
            + [TerminalText.truncated("q quit   ↑ ↓ PgUp PgDn scroll\(place)", toWidth: width)]
    }

    /// The number of rows that the table can take.
    var roomForTable: Int { max(size.rows - 3, 0) }

    /// The largest offset that is useful.
    var largestOffset: Int {
        guard let report else { return 0 }
        return max(QueueTable(report: report, width: size.columns, now: now).sections.count - roomForTable, 0)
    }

    private func filled(_ lines: [String], to count: Int) -> [String] {
        Array(lines.prefix(count)) + Array(repeating: "", count: max(count - lines.count, 0))
    }
}

/// The keys of a full screen.
enum WatchKey: Sendable, Equatable {
    case quit, up, down, pageUp, pageDown, first, last
}

/// Decodes the bytes that a terminal sends into keys. An escape sequence may arrive in several parts.
struct WatchKeys: Sendable {
    private var sequence: [UInt8] = []

    /// Returns the keys that these bytes complete. Unknown keys are ignored.
    mutating func read(_ bytes: some Sequence<UInt8>) -> [WatchKey] {
        bytes.compactMap { read($0) }
    }

    private mutating func read(_ byte: UInt8) -> WatchKey? {
        if byte == 0x1B {
            sequence = [byte]
            return nil
        }
        guard !sequence.isEmpty else { return Self.plain(byte) }
        sequence.append(byte)
        // ESC, then [ or O, then parameters, then a final byte (ECMA-48, section 5.4).
        if sequence.count == 2 {
            guard byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") else {
                sequence = []
                return Self.plain(byte)
            }
            return nil
        }
        guard (0x40...0x7E).contains(byte) || sequence.count > 16 else { return nil }
        defer { sequence = [] }
        return Self.special(String(decoding: sequence[2...], as: UTF8.self))
    }

    private static func plain(_ byte: UInt8) -> WatchKey? {
        switch Character(UnicodeScalar(byte)) {
        case "q", "Q": .quit
        case "k": .up
        case "j": .down
        case "b": .pageUp
        case " ": .pageDown
        case "g": .first
        case "G": .last
        default: nil
        }
    }

    /// The keys of xterm and the VT220.
    private static func special(_ text: String) -> WatchKey? {
        switch text {
        case "A": .up
        case "B": .down
        case "5~": .pageUp
        case "6~": .pageDown
        case "H", "1~", "7~": .first
        case "F", "4~", "8~": .last
        default: nil
        }
    }
}
