#if Cairo
import Foundation
import SluiceCommands
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `sluice show: PDF, PNG and SVG` {
    private static let markdown = "# Songs\n\nSome *words* and ![a picture](red.png).\n"
    /// A PNG of 2 × 1 red pixels.
    private static let redPNG = Data(
        base64Encoded:
            "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4z8AARAAI/gH/xp559wAAAABJRU5ErkJggg==")

    /// Runs the command on a document in a directory of its own.
    private func show(
        _ arguments: [String], markdown: String = markdown, _ prepare: (inout Console) -> Void = { _ in },
        then check: (_ status: ExitStatus, _ bytes: Data, _ error: String, _ directory: URL) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let file = directory.appending(path: "notes.md")
            try await Data(markdown.utf8).asyncWrite(to: file)
            if let png = Self.redPNG { try await png.asyncWrite(to: directory.appending(path: "red.png")) }
            let recorded = RecordedConsole()
            let bytes = Guarded(Data())
            var console = recorded.console
            console.byteSink = { data in bytes.withLock { $0.append(data) } }
            prepare(&console)
            let arguments = arguments.map { $0.replacing("{dir}", with: directory.path) }
            let status = await SluiceProgram.run(["show", file.path] + arguments, console: console)
            try await check(status, bytes.withLock { $0 }, recorded.error, directory)
        }
    }

    @Test(arguments: [("pdf", "%PDF-1."), ("svg", "<svg xmlns=")]) func `writes the format to the output`(
        _ format: String, _ beginning: String
    ) async throws {
        try await show(["--to", format]) { status, bytes, error, _ in
            #expect(status == .success && error == "")
            #expect(bytes.starts(with: Data(beginning.utf8)))
        }
    }

    @Test func `writes a PNG to a file, with the image of the document`() async throws {
        try await show(["--to", "png", "-o", "{dir}/notes.png", "--scale", "2", "--width", "300"]) {
            status, bytes, error, directory in
            #expect(status == .success && error == "" && bytes.isEmpty)
            let png = try await Data(asyncContentsOf: directory.appending(path: "notes.png"))
            #expect(png.dropFirst(16).prefix(4) == Data([0, 0, 2, 88]))
            try await show(["--to", "png", "--no-images", "--scale", "2", "--width", "300"]) { _, bytes, _, _ in
                #expect(bytes.count > 1_000 && bytes != png)
            }
        }
    }

    @Test func `the title of a PDF is the first heading`() async throws {
        try await show(["--to", "svg"]) { _, bytes, _, _ in
            #expect(String(decoding: bytes, as: UTF8.self).contains("<title>Songs</title>"))
        }
    }

    @Test func `writes a picture of each page into a directory`() async throws {
        let long = String(repeating: "some words and more\n\n", count: 60)
        try await show(["--to", "svg", "--paper", "a5", "-o", "{dir}/pages"], markdown: long) {
            status, _, error, directory in
            #expect(status == .success && error == "")
            let names = try await FileIO.shared.entries(of: directory.appending(path: "pages")).map(\.name).sorted()
            #expect(names.count > 1 && names.first == "page-001.svg")
        }
        try await show(["--to", "png", "--paper", "letter", "--page", "1"], markdown: long) { status, bytes, _, _ in
            #expect(status == .success && bytes.dropFirst(16).prefix(8) == Data([0, 0, 2, 100, 0, 0, 3, 24]))
        }
    }

    @Test(arguments: [
        (["--to", "html", "--paper", "a4"], "--paper: This option is for --to pdf, png and svg."),
        (["--to", "pdf", "--page", "1"], "--page, --scale and --width are for --to png and svg."),
        (["--to", "svg", "--scale", "2"], "--scale is for --to png."),
        (["--to", "png", "--page", "0"], "Pages are numbered from 1."),
        (["--to", "png", "--page", "3"], "The document has only 1 page."),
        (["--to", "png", "--scale", "100"], "from 0.1 to 20"),
        (["--to", "png", "--paper", "a4"], "Choose one with --page N, or name a directory with -o."),
        (["--to", "png", "--paper", "a4", "--width", "9", "--page", "1"], "--width and --paper can't be combined."),
        (["--to", "pdf", "--paper", "a44"], "--paper a44: This isn't a paper size."),
        (["--to", "pdf", "--margin", "wide"], "--margin wide: This isn't a length."),
        (["--to", "pdf", "--margin", "110mm"], "Use a smaller margin"),
    ])
    func `a mistake is named with its remedy`(_ arguments: [String], _ message: String) async throws {
        try await show(arguments) { status, bytes, error, _ in
            #expect(status == .usage && bytes.isEmpty)
            #expect(error.contains(message), "\(error)")
        }
    }

    @Test func `a PDF isn't written to a terminal`() async throws {
        try await show(["--to", "pdf"], { $0.outputSize = { Console.Size(columns: 80, rows: 24) } }) {
            status, bytes, error, _ in
            #expect(status == .usage && bytes.isEmpty && error.contains("Name a file with -o"))
        }
    }

    @Test func `an image that isn't a PNG is reported, and its description drawn`() async throws {
        try await show(["--to", "svg"], markdown: "![two words](notes.md)") { status, bytes, error, _ in
            #expect(status == .success)
            #expect(
                error.contains("The image couldn't be drawn") && error.contains("notes.md") && error.contains("PNG"))
            #expect(String(decoding: bytes, as: UTF8.self).contains("two words"))
        }
    }

    @Test func `a file that can't be written is an error that names it`() async throws {
        try await show(["--to", "pdf", "-o", "{dir}/missing/notes.pdf"]) { status, _, error, _ in
            #expect(status == .localFile && error.contains("-o: ") && error.contains("/missing/"))
        }
    }
}
#endif
