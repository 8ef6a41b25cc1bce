import Foundation
import Observation
import SluiceDownloads

/// Shows a `DownloadList`. In a terminal, redraws it in place. Otherwise, prints a line whenever other songs run or the counts change.
///
/// In an app, a SwiftUI view reads the same properties, and SwiftUI observes them.
@MainActor final class Screen {
    private let list: DownloadList
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var shown: [String] = []

    init(_ list: DownloadList) {
        self.list = list
        draw()
    }

    /// Prints a line above the queue.
    func say(_ line: String) {
        let queue = shown
        clear()
        print(line)
        if isTerminal { show(queue) }
    }

    /// Removes the queue from the terminal.
    func clear() {
        if isTerminal, !shown.isEmpty { print("\u{1B}[\(shown.count)A\u{1B}[J", terminator: "") }
        if isTerminal { shown = [] }
    }

    /// Draws the queue, and redraws it after each change to a property that was read here.
    private func draw() {
        let lines = withObservationTracking {
            isTerminal ? table() : [summary()]
        } onChange: { [weak self] in
            // The property changes after this call, and before the main actor runs the task.
            Task { @MainActor in self?.draw() }
        }
        guard lines != shown else { return }
        clear()
        show(lines)
    }

    private func show(_ lines: [String]) {
        shown = lines
        // Turn off line wrapping: each line must take one row, so that `clear` finds the first line.
        let text = lines.joined(separator: "\n")
        print(isTerminal ? "\u{1B}[?7l\(text)\u{1B}[?7h" : text)
        fflush(nil)
    }

    private func table() -> [String] {
        var rows = list.running.map { song in
            let filled = Int((song.fractionCompleted ?? 0) * 20)
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 20 - filled)
            return "\(song.download.columns) \(bar) \(Int((song.fractionCompleted ?? 0) * 100)) %"
        }
        rows += list.waiting.map { "\($0.columns) waits" }
        rows += list.paused.map { "\($0.columns) is paused" }
        rows += list.hosts.map { "\($0.name) gets no requests now" }
        if let failure = list.failure { rows.append(failure.localizedDescription) }

        var last = [counts()]
        if let rate = list.totals.bytesPerSecond { last.append("\(rate / 1000) kB/s") }
        if let left = list.totals.timeLeft { last.append("\(left.components.seconds) s left") }
        return rows + [last.joined(separator: ", ")]
    }

    private func summary() -> String {
        let running = list.running.map { "\($0.download.title) (\($0.download.guests))" }.joined(separator: ", ")
        return "  [\(counts())] \(running)"
    }

    private func counts() -> String {
        "\(list.count(in: .waiting)) waiting, \(list.count(in: .paused)) paused, \(list.count(in: .done)) done"
    }
}

extension QueuedDownload {
    var title: String { request.url.deletingPathExtension().lastPathComponent }

    /// The guests who want the song, in the order in which they asked for it.
    var guests: String {
        members.map { ($0.user ?? "?") + ($0.isPaused ? " (paused)" : "") }.joined(separator: ", ")
    }

    fileprivate var columns: String {
        title.padding(toLength: 18, withPad: " ", startingAt: 0)
            + guests.padding(toLength: 18, withPad: " ", startingAt: 0)
    }
}
