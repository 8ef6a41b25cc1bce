import Foundation
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `sluice show on a terminal` {
    private func run(
        _ markdown: String, _ arguments: [String] = [], on terminal: PseudoTerminal, in directory: URL,
        watching: @escaping @Sendable (Int32) async -> Void = { _ in }
    ) async throws -> (status: Int32, error: String) {
        let document = directory.appending(path: "notes.md")
        try await Data(markdown.utf8).asyncWrite(to: document)
        let environment = [
            "TERM": "xterm-kitty", "COLORTERM": "truecolor", "PATH": "/usr/bin:/bin", "PAGER": "cat",
            "XDG_CACHE_HOME": directory.appending(path: "caches").path,
        ]
        return try await terminal.run(
            try builtProgram("sluice"), ["show", document.path] + arguments, environment: environment,
            watching: watching)
    }

    @Test func `draws images in the cells that the terminal tells, and leaves the cursor below the text`()
        async throws
    {
        let loadedImage = TestImage.png(100, 60, rest: 5_000)
        let terminal = try PseudoTerminal(columns: 50, rows: 30, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await Data(loadedImage).asyncWrite(to: directory.appending(path: "a.png"))
            let ended = try await run("start\n\n![one](a.png)\n\nend", on: terminal, in: directory)
            #expect(ended.status == 0 && ended.error == "")
        }
        var screen = FakeTerminal(columns: 50, rows: 30)
        screen.write(terminal.output)
        #expect(screen.loadedImages.map(\.bytes) == [loadedImage] && screen.unknown == [])
        #expect(screen.loadedImages.first?.columns == 10 && screen.loadedImages.first?.rows == 3)
        #expect(screen.text.dropLast().last == "end" && screen.column == 0)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `that is interrupted while it waits for an image ends immediately, with the text whole`(signal: Int32)
        async throws
    {
        let held = Gate()
        let terminal = try PseudoTerminal(columns: 50, rows: 30, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                await held.pass()
                return OriginResponse()
            } during: { origin in
                let ended = try await run(
                    "start\n\n![one](\(origin.url("/a.png")))\n\nend", ["--remote-images"], on: terminal, in: directory
                ) { process in
                    await held.arrivals(1)
                    kill(process, signal)
                }
                #expect(ended.status == 7, "\(ended.error)")
                #expect(ended.error == "sluice: Interrupted: 1 of 1 images aren't shown.\n")
                await held.open()
            }
        }
        var screen = FakeTerminal(columns: 50, rows: 30)
        screen.write(terminal.output + "prompt")
        #expect(screen.text.contains("end") && screen.text.last == "prompt" && screen.unknown == [])
        #expect(terminal.output.hasSuffix("\u{1B}[0m"))
    }

    @Test func `that is interrupted shows no description without its image`() async throws {
        // Given two images: one has no room in the text and waits for the end, which the other delays
        let held = Gate()
        let terminal = try PseudoTerminal(columns: 50, rows: 14, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await Data(TestImage.png(100, 600)).asyncWrite(to: directory.appending(path: "tall.png"))
            try await Data(TestImage.png(10, 20)).asyncWrite(to: directory.appending(path: "low.png"))
            try await LoopbackOrigin.serve { _ in
                await held.pass()
                return OriginResponse()
            } during: { origin in
                let markdown = "![high](tall.png)\n\na\n\nb\n\nc\n\n![low](low.png)\n\n![one](\(origin.url("/a.png")))"
                let ended = try await run(markdown, ["--remote-images"], on: terminal, in: directory) { process in
                    await held.arrivals(1)
                    // Files are drawn in the order in which they come; with the lower one, the higher has come or not.
                    try? await terminal.output(containing: "\u{1B}_Ga=T")
                    kill(process, SIGINT)
                }
                #expect(ended.status == 7 && ended.error.contains("Interrupted"), "\(ended.error)")
                await held.open()
            }
        }
        #expect(terminal.output.split(separator: "high").count <= 2)
    }
}
