import Foundation
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `sluice show on a terminal` {
    private func run(
        _ markdown: String, _ arguments: [String] = [], on terminal: PseudoTerminal, in folder: URL,
        watching: @escaping @Sendable (Int32) async -> Void = { _ in }
    ) async throws -> (status: Int32, error: String) {
        let document = folder.appending(path: "notes.md")
        try await Data(markdown.utf8).asyncWrite(to: document)
        let environment = [
            "TERM": "xterm-kitty", "COLORTERM": "truecolor", "PATH": "/usr/bin:/bin", "PAGER": "cat",
            "XDG_CACHE_HOME": folder.appending(path: "caches").path,
        ]
        return try await terminal.run(
            try builtProgram("sluice"), ["show", document.path] + arguments, environment: environment,
            watching: watching)
    }

    @Test func `draws pictures in the cells that the terminal tells, and leaves the cursor below the text`()
        async throws
    {
        let picture = TestPicture.png(100, 60, rest: 5_000)
        let terminal = try PseudoTerminal(columns: 50, rows: 30, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try await Data(picture).asyncWrite(to: folder.appending(path: "a.png"))
            let ended = try await run("start\n\n![one](a.png)\n\nend", on: terminal, in: folder)
            #expect(ended.status == 0 && ended.error == "")
        }
        var screen = FakeTerminal(columns: 50, rows: 30)
        screen.write(terminal.output)
        #expect(screen.pictures.map(\.bytes) == [picture] && screen.unknown == [])
        #expect(screen.pictures.first?.columns == 10 && screen.pictures.first?.rows == 3)
        #expect(screen.text.dropLast().last == "end" && screen.column == 0)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `that is interrupted while a picture is waited for ends at once, with the text whole`(signal: Int32)
        async throws
    {
        let held = Gate()
        let terminal = try PseudoTerminal(columns: 50, rows: 30, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try await LoopbackOrigin.serve { _ in
                await held.pass()
                return OriginResponse()
            } during: { origin in
                let ended = try await run(
                    "start\n\n![one](\(origin.url("/a.png")))\n\nend", ["--remote-images"], on: terminal, in: folder
                ) { process in
                    await held.arrivals(1)
                    kill(process, signal)
                }
                #expect(ended.status == 7, "\(ended.error)")
                #expect(ended.error == "sluice: interrupted; 1 of 1 pictures are not shown\n")
                await held.open()
            }
        }
        var screen = FakeTerminal(columns: 50, rows: 30)
        screen.write(terminal.output + "prompt")
        #expect(screen.text.contains("end") && screen.text.last == "prompt" && screen.unknown == [])
        #expect(terminal.output.hasSuffix("\u{1B}[0m"))
    }

    @Test func `that is interrupted shows no description without its picture`() async throws {
        // Given two pictures: one has no room in the text and waits for the end, which the other holds up
        let held = Gate()
        let terminal = try PseudoTerminal(columns: 50, rows: 14, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try await Data(TestPicture.png(100, 600)).asyncWrite(to: folder.appending(path: "tall.png"))
            try await Data(TestPicture.png(10, 20)).asyncWrite(to: folder.appending(path: "low.png"))
            try await LoopbackOrigin.serve { _ in
                await held.pass()
                return OriginResponse()
            } during: { origin in
                let markdown = "![high](tall.png)\n\na\n\nb\n\nc\n\n![low](low.png)\n\n![one](\(origin.url("/a.png")))"
                let ended = try await run(markdown, ["--remote-images"], on: terminal, in: folder) { process in
                    await held.arrivals(1)
                    // Files are drawn in the order in which they come; with the lower one, the higher has come or not.
                    try? await terminal.output(containing: "\u{1B}_Ga=T")
                    kill(process, SIGINT)
                }
                #expect(ended.status == 7 && ended.error.contains("interrupted"), "\(ended.error)")
                await held.open()
            }
        }
        #expect(terminal.output.split(separator: "high").count <= 2)
    }
}
