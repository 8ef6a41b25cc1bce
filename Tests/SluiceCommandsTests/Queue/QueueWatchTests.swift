import Foundation
import NativeMark
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `sluice queue watch` {
    /// A separate session with the terminal, in which Ctrl-C and resizing send signals (setsid(1)).
    private static let session = "/usr/bin/setsid"

    private static func watch(
        _ scene: QueueScene, on terminal: PseudoTerminal, watching: @escaping @Sendable (Int32) async -> Void
    ) async throws -> (status: Int32, error: String) {
        try await terminal.run(
            URL(filePath: session),
            ["--wait", "--ctty", try builtProgram("sluice").path, "queue", "watch", "--db", scene.database],
            environment: ["TERM": "xterm", "PATH": "/usr/bin:/bin"], watching: watching)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: session)))
    func `shows the queue, scrolls, survives resizing and changes, and restores the terminal after q`() async throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 14, cell: (10, 20))
        try await QueueScene.run { scene in
            await scene.add((1...30).map { "/song-\($0)" }, "--user", "ann")
            let large = Guarded("")
            let ended = try await Self.watch(scene, on: terminal) { _ in
                try? await terminal.output(containing: "lines 1 to 11 of 31")
                terminal.type("\u{1B}[6~")
                try? await terminal.output(containing: "lines 11 to 21 of 31")
                large.withLock { $0 = terminal.output }
                terminal.resize(columns: 50, rows: 8, cell: (10, 20))
                try? await terminal.output(containing: "lines 11 to 15 of")
                // The last line, and then a change of the queue.
                terminal.type("G")
                try? await terminal.output(containing: "lines 27 to 31 of")
                _ = await scene.queue("cancel", "1")
                try? await terminal.output(containing: "29 waiting, 1 cancelled")
                terminal.type("q")
            }
            #expect(ended.status == 0 && ended.error == "", "\(ended)")
            let before = FullScreen(columns: 80, rows: 14, showing: large.withLock { $0 })
            #expect(before.isAlternate && !before.isCursorVisible && before.unknown == [])
            #expect(before.lines[0].hasPrefix("queue.db: 0 running, 30 waiting"))
            #expect(before.lines[2] == "  10  song-10  ann", "\(before.lines)")
            #expect(before.lines[13] == "q quit   ↑ ↓ PgUp PgDn scroll   lines 11 to 21 of 31")
            let after = FullScreen(columns: 80, rows: 14, showing: terminal.output)
            #expect(!after.isAlternate && after.isCursorVisible && after.entries == 1 && after.unknown == [])
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: session)), arguments: ["\u{3}", "\u{1C}"])
    func `Ctrl-C and a core dump restore the terminal`(key: String) async throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 14, cell: (10, 20))
        try await QueueScene.run { scene in
            await scene.add(["/song"])
            let ended = try await Self.watch(scene, on: terminal) { _ in
                try? await terminal.output(containing: "1 waiting")
                terminal.type(key)
            }
            // setsid reports an end by a signal as its own failure.
            #expect(key == "\u{3}" ? ended.status == 7 : ended.error.contains("did not exit normally"), "\(ended)")
            let screen = FullScreen(columns: 80, rows: 14, showing: terminal.output)
            #expect(!screen.isAlternate && screen.isCursorVisible && screen.entries == 1)
        }
    }

    @Test func `an error restores the terminal and is reported afterwards`() async throws {
        let recorded = RecordedConsole()
        let emitted = Recorder<String>()
        var console = recorded.console
        console.outputSize = { Console.Size(columns: 80, rows: 24) }
        console.emit = { text, _ in emitted.note(text) }
        console.takeKeys = { { emitted.note("restored") } }
        let downloads = DownloadCoordinator(store: .memory)
        try await downloads.close()
        let screen = WatchScreen(title: "q", console: console)
        await #expect(throws: QueueStoreError.self) {
            _ = try await screen.show(QueueReports(downloads: downloads, limit: 10))
        }
        #expect(emitted.values == ["\u{1B}[?1049h\u{1B}[?25l", "\u{1B}[?25h\u{1B}[?1049l", "restored"])
    }

    @Test(arguments: QueueScene.Place.usable)
    func `without a terminal, prints one line of JSON for each change`(place: QueueScene.Place) async throws {
        try await QueueScene.run(on: place) { scene in
            await scene.add(["/a"])
            let recorded = RecordedConsole()
            let console = recorded.console
            async let watching = SluiceProgram.run(["queue", "watch", "--db", scene.database], console: console)
            try await recorded.output { $0.split(separator: "\n").count == 1 }
            await scene.add(["/b"])
            try await recorded.output { $0.split(separator: "\n").count == 2 }
            console.interruption.request()
            #expect(await watching == .interrupted)
            let counts = try recorded.output.split(separator: "\n").map {
                try JSONDecoder().decode(QueueScene.Listing.self, from: Data($0.utf8)).counts["waiting"]
            }
            #expect(counts == [1, 2])
        }
    }

    @Test func `keys may arrive in parts, and unknown keys are ignored`() {
        var keys = WatchKeys()
        #expect(keys.read("xk\u{1B}".utf8) == [.up])
        #expect(keys.read("[".utf8) == [])
        #expect(
            keys.read("6~\u{1B}[A\u{1B}OB\u{1B}[1;5D\u{1B}[H\u{1B}[4~".utf8) == [.pageDown, .up, .down, .first, .last])
        #expect(keys.read("\u{1B}xq jb gG".utf8) == [.quit, .pageDown, .down, .pageUp, .pageDown, .first, .last])
        #expect(keys.read("\u{1B}[".utf8 + Array(repeating: UInt8(ascii: "1"), count: 20) + "q".utf8) == [.quit])
    }
}

@Suite struct `A frame of the watched queue` {
    private func frame(_ columns: Int, _ rows: Int, offset: Int = 0) throws -> WatchFrame {
        let directory = URL(filePath: "/music", directoryHint: .isDirectory)
        func download(_ id: Int64, _ name: String, _ state: QueuedDownload.State) throws -> QueuedDownload {
            QueuedDownload(
                id: .init(rawValue: id),
                request: DownloadRequest(try URL(fetchable: "http://a.example/\(id)"), to: directory, name: name),
                members: [.init(user: "日本 \u{1B}[31mann", batch: "top\n500")], state: state,
                error: state == .failed
                    ? TransferError(
                        line: "The server \u{1B}]0;x\u{7} answered 404.", parts: nil, url: URL(filePath: "/"))
                    : nil)
        }
        let snapshot = QueueSnapshot(
            counts: [.running: 1, .waiting: 9, .failed: 1],
            running: [
                .init(
                    download: try download(1, "日本の歌 (live).mp3", .running), receivedBytes: 710_000,
                    totalBytes: 1_000_000)
            ],
            waiting: try (2...10).map { try download($0, "song-\($0).mp3", .waiting) },
            ended: [try download(11, String(repeating: "w", count: 200), .failed)])
        return WatchFrame(
            title: "q\u{1B}[2J.db", report: QueueReport(snapshot, limit: 100), rate: 2_100_000,
            size: Console.Size(columns: columns, rows: rows), offset: offset)
    }

    @Test(arguments: [1, 2, 3, 4, 10, 40, 80, 200], [1, 2, 3, 4, 5, 24, 60])
    func `a frame fits a screen of any size and has no controls`(columns: Int, rows: Int) throws {
        for offset in [-5, 0, 3, 1000] {
            let lines = try frame(columns, rows, offset: offset).lines
            #expect(lines.count == rows)
            #expect(lines.allSatisfy { TerminalText.width(of: $0) <= columns })
            #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
    }

    @Test func `a frame shows progress, users and errors`() throws {
        let lines = try frame(100, 24).lines
        #expect(lines[0].hasSuffix(".db: 1 running, 9 waiting, 1 failed  2.1 MB/s"))
        #expect(lines[3].contains("日本の歌 (live).mp3") && lines[3].hasSuffix("71 %  710.0 kB"))
        #expect(lines.contains { $0.hasPrefix("  11  www") && $0.contains("…") && $0.contains("answered 404.") })
    }

    @Test func `a frame scrolls to the last line and no further`() throws {
        let last = try frame(80, 10, offset: 1000)
        #expect(last.lines[8].hasPrefix("  11  ") && last.lines[9].hasSuffix("lines 10 to 16 of 16"))
        #expect(last.largestOffset == 9)
    }
}

// MARK: - The terminal

/// The parts of a terminal that a full-screen program uses: the alternate screen, the cursor's visibility, and lines that are written over.
struct FullScreen {
    let columns: Int
    let rows: Int
    private(set) var isAlternate = false
    private(set) var isCursorVisible = true
    /// The number of times that the alternate screen was entered.
    private(set) var entries = 0
    /// Unknown controls, and output outside of the screen.
    private(set) var unknown: [String] = []
    private var cells: [[Character]]
    private var (row, column) = (0, 0)

    /// Shows everything that a program has written to the terminal.
    init(columns: Int, rows: Int, showing output: String) {
        (self.columns, self.rows) = (columns, rows)
        cells = Array(repeating: [], count: rows)
        var rest = output[...]
        while let character = rest.popFirst() {
            switch character {
            case "\r\n": (row, column) = (row + 1, 0)
            case "\r": column = 0
            case "\n": row += 1
            case "\u{1B}": rest = control(rest)
            default: put(character)
            }
        }
    }

    /// The lines without trailing spaces.
    var lines: [String] {
        cells.map { line in
            var text = String(line)
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    private mutating func put(_ character: Character) {
        guard row < rows, column < columns else { return unknown.append("\(character) at \(row), \(column)") }
        while cells[row].count <= column { cells[row].append(" ") }
        cells[row][column] = character
        column += 1
    }

    private mutating func control(_ text: Substring) -> Substring {
        guard text.first == "[", let end = text.dropFirst().firstIndex(where: { $0.isLetter }) else {
            unknown.append("ESC \(text.prefix(1))")
            return text
        }
        switch text[text.startIndex...end] {
        case "[H": (row, column) = (0, 0)
        case "[K": if row < rows { cells[row].removeLast(max(cells[row].count - column, 0)) }
        case "[?25h": isCursorVisible = true
        case "[?25l": isCursorVisible = false
        case "[?1049h":
            (isAlternate, cells, entries) = (true, Array(repeating: [], count: rows), entries + 1)
            (row, column) = (0, 0)
        case "[?1049l": isAlternate = false
        default: unknown.append("ESC \(text[text.startIndex...end])")
        }
        return text[text.index(after: end)...]
    }
}
