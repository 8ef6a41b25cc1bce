import Foundation
import NativeMark
import NativeMarkCairo

/// Printing compared with pandoc, and the layout of what is visible of a long document.
enum DrawingRows {
    static var all: [Row] {
        [
            printing("to PDF", .milliseconds, .atMost(0.3)),
            printing("to PDF, peak memory", .peakMebibytes, .below(100)),
            firstScreen, oneKey,
        ]
    }

    /// Both contenders are processes that read a file and write one. pandoc's text is set by groff, without links or an outline.
    private static func printing(_ name: String, _ unit: Unit, _ figure: Figure) -> Row {
        Row(
            "drawing/300 pages of this project's documentation \(name)", unit, against: "pandoc with pdfroff",
            figure: figure
        ) { stage, rounds in
            guard let pandoc = try? Programs.found("pandoc"), (try? Programs.found("pdfroff")) != nil else {
                throw RowFailure.missing("pandoc or pdfroff is missing; install the packages pandoc and groff")
            }
            let ours = try Programs.existing(
                stage.childUsage.deletingLastPathComponent().appending(path: "MarkdownToPDF"),
                remedy: "it is built with the benchmarks")
            try await stage.withDirectory { directory in
                let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
                let text = try MarkdownRows.documentation(stage.count(530_000, quick: 265_000))
                let (input, one, other) = (
                    directory.appending(path: "in.md"), directory.appending(path: "ours.pdf"),
                    directory.appending(path: "pandoc.pdf")
                )
                try Data(text.utf8).write(to: input)
                func checked(_ usage: Children.Usage, _ pdf: URL) throws -> Sample {
                    guard try Data(contentsOf: pdf).starts(with: Data("%PDF-".utf8)) else {
                        throw RowFailure.wrongResult("\(pdf.lastPathComponent) isn't a PDF")
                    }
                    return usage.sample(operations: 1, bytes: text.utf8.count)
                }
                try await rounds(
                    { try checked(try await children.run(ours, [input.path, one.path]), one) },
                    {
                        let words = ["-f", "gfm", "--pdf-engine=pdfroff", "-o", other.path, input.path]
                        return try checked(try await children.run(pandoc, words), other)
                    })
            }
        }
    }

    private static let screen = 1_000.0

    private static func layout(_ document: Document, _ engine: PangoEngine) -> DocumentLayout {
        DocumentLayout(document, style: .github, width: 640, engine: engine)
    }

    private static func height(_ sections: [DocumentLayout.Section]) -> Int {
        Int(sections.last.map { $0.top + $0.layout.size.height } ?? 0)
    }

    /// The peer lays out a document that has only what is on the screen.
    private static var firstScreen: Row {
        Row(
            "drawing/first screen of 20 MB", .milliseconds, against: "a document of one screen", figure: .below(30),
            slices: 5
        ) { stage, rounds in
            let engine = PangoEngine()
            let document = Document(MarkdownRows.paragraphs(stage.count(20_000_000, quick: 5_000_000), isPlain: false))
            let short = Document(MarkdownRows.paragraphs(3_000, isPlain: false))
            var first = layout(document, engine)
            let expected = height(first.sections(from: 0, height: screen))
            let whole = StyledText(short, style: .github)
            let shortHeight = Int(TextLayout(whole, width: 640, engine: engine).size.height)
            try await rounds(
                {
                    try await timed(1, expecting: expected) {
                        var layout = layout(document, engine)
                        return height(layout.sections(from: 0, height: screen))
                    }
                },
                {
                    try await timed(1, expecting: shortHeight) {
                        Int(TextLayout(StyledText(short, style: .github), width: 640, engine: engine).size.height)
                    }
                })
        }
    }

    /// Each keystroke goes to the middle of the document, which is visible. Parsing isn't timed, because the rows `markdown/` do that. The
    /// peer lays out the screen again.
    private static var oneKey: Row {
        Row(
            "drawing/layout after one key in 20 MB", .milliseconds, against: "the screen laid out again",
            figure: .below(2), slices: 5
        ) { stage, rounds in
            let engine = PangoEngine()
            let start = Document(MarkdownRows.paragraphs(stage.count(20_000_000, quick: 5_000_000), isPlain: false))
            var shown = layout(start, engine)
            let middle = start.source.utf8.count / 2
            let section = shown.section(at: middle)
            _ = shown.sections(from: section, height: screen)
            var edits = [start]
            for _ in 0..<4 { edits.append(edits[edits.count - 1].replacing(middle..<middle, with: "x")) }
            let keys = edits.dropFirst()
            try await rounds(
                {
                    var layout = shown
                    return try await timed(keys.count, expecting: section) {
                        var first = -1
                        for document in keys {
                            layout.update(to: document)
                            first = layout.sections(from: section, height: screen)[0].index
                        }
                        return first
                    }
                },
                {
                    let expected = height(shown.sections(from: section, height: screen))
                    return try await timed(1, expecting: expected) {
                        var layout = layout(start, engine)
                        return height(layout.sections(from: section, height: screen))
                    }
                })
        }
    }
}
