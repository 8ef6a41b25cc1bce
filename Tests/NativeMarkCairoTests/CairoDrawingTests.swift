#if Cairo
import Foundation
import NativeMark
import NativeMarkCairo
import TestSupport
import Testing

private func drawing(
    _ markdown: String, style: StyleSheet = .github, appearance: StyleSheet.Appearance = .light
) throws -> CairoDrawing {
    CairoDrawing(
        StyledText(
            Document(markdown), style: style, environment: .init(appearance: appearance), highlighter: .languages),
        engine: try Fonts.engine())
}

/// A PNG of 2 × 1 red pixels.
private let redPNG = Data(
    base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4z8AARAAI/gH/xp559wAAAABJRU5ErkJggg==")!

@Suite struct CairoDrawingPDFTests {
    private static let sample = """
        # First heading

        A paragraph with a [link](https://example.com/a'b\\c) and a note[^1], to [the second](#second-heading).

        ## Second heading

        - one
        - two

        | a | b |
        |---|---|
        | c | d |

        [^1]: The note.
        """

    /// The objects of a PDF as text, uncompressed.
    private func objects(_ pdf: [UInt8]) throws -> String {
        try withFile(pdf) { try run("qpdf", "--qdf", "--object-streams=disable", $0, "-") }
    }

    private func text(_ pdf: [UInt8], _ options: String...) throws -> String {
        try withFile(pdf) { try run("pdftotext", options + [$0, "-"]) }
    }

    private func withFile<Result>(_ bytes: [UInt8], _ body: (_ path: String) throws -> Result) throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pdf")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try body(file.path(percentEncoded: false))
    }

    private func run(_ program: String, _ arguments: String...) throws -> String { try run(program, arguments) }

    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/\(program)")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(.enabled(if: Tools.arePresent)) func `the text is selectable, in reading order`() throws {
        let text = try text(drawing(Self.sample).pdf())
        let words = ["First heading", "A paragraph", "Second heading", "one", "two", "The note."]
        let places = words.compactMap { text.range(of: $0)?.lowerBound }
        #expect(places.count == words.count && places == places.sorted())
    }

    @Test(.enabled(if: Tools.arePresent)) func `links, outline, tags and metadata`() throws {
        var drawing = try drawing(Self.sample)
        drawing.title = "The title"
        drawing.author = "Åsa"
        let objects = try objects(drawing.pdf())
        #expect(objects.contains("/URI (https://example.com/a'b%5Cc)"))
        #expect(objects.contains("/Dest") && objects.contains("second-heading"))
        for part in ["/Title (First heading)", "/Title (Second heading)", "/S /H1", "/S /LI", "/S /TH", "/S /TD"] {
            #expect(objects.contains(part), "\(part)")
        }
        #expect(objects.contains("/Title (The title)"))
        #expect(objects.contains("/CreationDate (20000101000000Z)"))
    }

    @Test(.enabled(if: Tools.arePresent)) func `the rectangle of a link contains its words`() throws {
        let pdf = try drawing("Some text before [theword](https://example.com) and after.").pdf()
        let objects = try objects(pdf)
        let rect = try #require(objects.firstMatch(of: /\/Rect \[\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)/))
        let box = try #require(
            text(pdf, "-bbox").firstMatch(
                of: /<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">theword</))
        let height = PageSetup.Paper.a4.height
        // Cairo rounds the rectangle to points. PDF counts from the bottom of a page.
        #expect(Double(rect.1)! <= Double(box.1)! + 1 && Double(box.3)! <= Double(rect.3)! + 1)
        #expect(height - Double(rect.4)! <= Double(box.2)! + 2 && Double(box.4)! <= height - Double(rect.2)! + 2)
    }

    @Test(.enabled(if: Tools.arePresent))
    func `a document that attacks the attributes of tags is drawn without harm`() throws {
        let hostile = try drawing(
            "# a'b\\ \u{0} name='x'\n\n[x](<https://e.com/' rect=[0 0 1 1] uri='x>) [y](#nowhere) [z](javascript:x) [r](a/b.md)"
        )
        let objects = try objects(hostile.pdf())
        #expect(
            objects.matches(of: /\/URI \(([^)]*)/).map { String($0.1) } == [
                "https://e.com/'%20rect=%5B0%200%201%201%5D%20uri='x", "a/b.md",
            ])
        #expect(objects.contains("/URI (a/b.md)"))
    }

    @Test func `two PDFs of a document are equal`() throws {
        #expect(try drawing(Self.sample).pdf() == drawing(Self.sample).pdf())
    }

    @Test func `pages have numbers, and a dark page has a background`() throws {
        let long = String(repeating: "word ", count: 2_000)
        #expect(try Array(drawing(long).pages()).map(\.number) == [1, 2, 3, 4])
        #expect(try drawing("a", appearance: .dark).pdf() != drawing("a").pdf())
    }

    @Test func `an error of the writer ends the drawing and is thrown`() throws {
        struct Full: Error {}
        var calls = 0
        let drawing = try drawing(String(repeating: "a b c\n\n", count: 3_000))
        #expect(throws: Full.self) {
            try drawing.writePDF { _ in
                calls += 1
                if calls == 3 { throw Full() }
            }
        }
        #expect(calls == 3)
    }

    @Test func `a cancelled task stops drawing`() async throws {
        let drawing = try drawing(String(repeating: "a b c\n\n", count: 3_000))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try drawing.pdf()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `margins that leave no room are an error`() throws {
        #expect {
            try drawing("a").pdf(.init(paper: .a5, margin: 200))
        } throws: { error in
            (error as? CairoError)?.code == .page && "\(error)".contains("margin")
        }
    }

    @Test(arguments: [
        String(repeating: "> ", count: 10_000) + "deep",
        "|" + String(repeating: "a|", count: 1_000) + "\n|" + String(repeating: "-|", count: 1_000) + "\n|"
            + String(repeating: "b|", count: 1_000),
        String(repeating: "m", count: 200_000),
        String(repeating: "![i](x.png) ", count: 10_000),
        String(repeating: "# heading\n", count: 3_000),
        String(repeating: "[^a] ", count: 3_000) + "\n\n[^a]: note",
    ])
    func `hostile documents are drawn`(_ markdown: String) throws {
        #expect(try drawing(markdown).pdf().count > 1_000)
    }
}

/// Programs that read PDFs, from Debian's qpdf and poppler-utils.
private enum Tools {
    static let arePresent =
        ["qpdf", "pdftotext"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }
        || ProcessInfo.processInfo.environment["SLUICE_REQUIRE_SERVERS"] != nil
}

@Suite struct CairoDrawingPictureTests {
    @Test func `a picture has the width, and the height of the text`() throws {
        let one = try CairoImage(png: drawing("a").png(width: 200, scale: 2))
        let two = try CairoImage(png: drawing("a\n\nb").png(width: 200, scale: 2))
        #expect(one.width == 400 && two.width == 400)
        #expect(one.height > 60 && two.height > one.height)
    }

    @Test func `a page has the size of the paper`() throws {
        let page = try #require(try drawing("a").pages(.init(paper: .letter.landscape)).first { _ in true })
        let image = try CairoImage(png: page.png())
        #expect(image.width == 792 && image.height == 612)
    }

    @Test func `a picture that is too high for Cairo is an error that says what to do`() throws {
        let long = String(repeating: "a\n\n", count: 3_000)
        #expect {
            try drawing(long).png(width: 200)
        } throws: { error in
            (error as? CairoError)?.code == .size && "\(error)".contains("32767")
        }
        #expect(throws: CairoError.self) { try drawing("a").png(width: .nan) }
        #expect(throws: CairoError.self) { try drawing("a").png(width: 100_000) }
        #expect(throws: CairoError.self) { try drawing("a").png(width: 200, scale: 0) }
    }

    @Test func `an image is drawn in its place, and its description without it`() throws {
        let without = try drawing("![two words](red.png)")
        var with = without
        with.images["red.png"] = try CairoImage(png: [UInt8](redPNG))
        #expect(try with.svg(width: 200).contains(/<image x="0"/))
        #expect(try !without.svg(width: 200).contains("<image"))
        #expect(try without.svg(width: 200).contains("two words"))
        #expect(try with.png(width: 200) != without.png(width: 200))
    }

    @Test(arguments: [
        [], [1, 2, 3], Array(redPNG.prefix(40)), Array(redPNG.prefix(16)) + Array(repeating: 0xFF, count: 40),
    ])
    func `bytes that aren't a PNG are an error`(_ bytes: [UInt8]) {
        #expect {
            try CairoImage(png: bytes)
        } throws: { error in
            (error as? CairoError)?.code == .image
        }
    }
}

@Suite struct CairoDrawingSVGTests {
    @Test func `text, links, boxes and lines`() throws {
        let svg = try drawing("# Head & <b>\n\n`code` [link](https://example.com/?a=1&b=2) ~~gone~~\n\n---").svg(
            width: 300)
        #expect(svg.contains(">Head &amp; &lt;b&gt;</text>"))
        #expect(svg.contains("<a xlink:href=\"https://example.com/?a=1&amp;b=2\">"))
        #expect(svg.contains("font-family=\"DejaVu Sans Mono, monospace\""))
        #expect(svg.contains("<path d=\"M"))
        try check(svg)
    }

    @Test func `right-to-left text begins at its right end`() throws {
        #expect(try drawing("שלום").svg(width: 300).contains("direction=\"rtl\" text-anchor=\"end\""))
    }

    @Test func `a page cuts boxes that continue`() throws {
        let code = "```\n" + String(repeating: "line\n", count: 100) + "```"
        let page = try #require(try drawing(code).pages().first { _ in true })
        let svg = page.svg()
        #expect(svg.contains("clip-path=\"url(#page)\""))
        try check(svg)
    }

    @Test func `control characters don't break the file`() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<20 {
            let text = String(
                String.UnicodeScalarView(
                    (0..<60).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0...0x2FF, using: &random)) }))
            try check(drawing(text).svg(width: 200))
        }
    }

    /// Checks that tags are closed and that text has no characters that XML forbids.
    private func check(_ svg: String) throws {
        var open: [Substring] = []
        for tag in svg.matches(of: /<(\/?)([a-zA-Z]+)[^>]*?(\/?)>/) {
            if tag.1 == "/" {
                #expect(open.popLast() == tag.2)
            } else if tag.3.isEmpty {
                open.append(tag.2)
            }
        }
        #expect(open.isEmpty)
        #expect(!svg.unicodeScalars.contains { $0 < " " && $0 != "\n" })
        #expect(!svg.contains(/&(?!amp;|lt;|gt;|quot;)/))
    }
}

@Suite struct PageSetupTests {
    @Test(arguments: [
        ("a4", 595.276, 841.89), ("A5", 419.528, 595.276), ("letter", 612, 792), ("100x150mm", 283.465, 425.197),
        ("6x9in", 432, 648), ("432x648", 432, 648), ("21x29.7cm", 595.276, 841.89), ("300x400pt", 300, 400),
    ])
    func `paper`(_ text: String, _ width: Double, _ height: Double) throws {
        let paper = try #require(PageSetup.Paper(text))
        #expect(abs(paper.width - width) < 0.01 && abs(paper.height - height) < 0.01)
    }

    @Test(arguments: ["", "a9", "10x10", "x", "5x", "1e5x1e5", "-5x9in", "nanxnan", "6x9ft", "1x2x3in", "infx9in"])
    func `other text isn't paper`(_ text: String) { #expect(PageSetup.Paper(text) == nil) }

    @Test(arguments: [("20mm", 56.693), ("0.75in", 54.0), ("54pt", 54), ("54", 54), ("0", 0)])
    func `lengths`(_ text: String, _ points: Double) throws {
        #expect(abs(try #require(PageSetup.points(text)) - points) < 0.01)
    }

    @Test(arguments: ["", "mm", "-1mm", "1 mm", "nan", "inf", "1km"])
    func `other text isn't a length`(_ text: String) { #expect(PageSetup.points(text) == nil) }
}
#endif
