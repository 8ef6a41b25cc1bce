import Foundation
import NativeMark

/// Parsing and rendering compared with cmark, md4c and pulldown-cmark, a stream compared with one parse, and styled text compared with the
/// fastest way in Foundation.
enum MarkdownRows {
    static var all: [Row] {
        [
            html("1.1 MB of paragraphs with markup", figure: .atMost(0.5)) { _ in paragraphs(1_100_000, isPlain: false)
            },
            html("1.1 MB of plain paragraphs", figure: .atMost(0.5)) { _ in paragraphs(1_100_000, isPlain: true) },
            html("20 MB of paragraphs with markup", figure: .atMost(0.5)) {
                paragraphs($0.count(20_000_000, quick: 5_000_000), isPlain: false)
            },
            html("1 MB of this project's documentation", figure: .atMost(0.5), isComparable: false) { _ in
                try documentation()
            },
            memory,
            attributed,
            highlighting,
        ] + peers + stream + editing
    }

    // MARK: HTML

    /// The peer is a process, so its time includes starting, reading its file and writing to /dev/null, which takes a millisecond.
    private static func html(
        _ name: String, figure: Figure? = nil, isComparable: Bool = true, _ text: @escaping (Stage) throws -> String
    ) -> Row {
        Row("markdown/\(name) to HTML", .milliseconds, against: "cmark", figure: figure) { stage, rounds in
            let cmark = try Programs.found("cmark")
            try await stage.withDirectory { directory in
                let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
                let text = try text(stage)
                let (input, output) = (directory.appending(path: "in.md"), directory.appending(path: "out.html"))
                try Data(text.utf8).write(to: input)
                let expected = render(text)
                if isComparable {
                    // The contenders do the same work only if the HTML is the same.
                    let shell = try Programs.found("sh")
                    _ = try await children.run(
                        shell, ["-c", "exec \"$0\" \"$1\" > \"$2\"", cmark.path, input.path, output.path])
                    guard try Data(contentsOf: output) == Data(expected.utf8) else {
                        throw RowFailure.wrongResult("our HTML differs from that of cmark")
                    }
                }
                let (size, count) = (text.utf8.count, expected.utf8.count)
                try await rounds(
                    { try await timed(1, bytes: size, expecting: count) { render(text).utf8.count } },
                    { try await children.run(cmark, [input.path]).sample(operations: 1, bytes: size) })
            }
        }
    }

    private static func render(_ text: String) -> String {
        HTMLRenderer().render(Document(text, options: .commonMark))
    }

    // MARK: Attributed text

    private static var attributed: Row {
        Row(
            "markdown/20,000 runs to AttributedString", .milliseconds, against: "one string with ranges set",
            figure: .atMost(1.2)
        ) { _, rounds in
            let styled = StyledText(Document((0..<10_000).map { "word \($0) *in italics* " }.joined()))
            let runs = styled.runs.map(\.range)
            let expected = AttributedString(styled).runs.reduce(0) { count, _ in count + 1 }
            try await rounds(
                {
                    try await timed(1, expecting: expected) {
                        AttributedString(styled).runs.reduce(0) { count, _ in count + 1 }
                    }
                },
                {
                    try await timed(1, expecting: runs.count) {
                        var text = AttributedString(styled.string)
                        var (index, offset) = (text.startIndex, 0)
                        for (number, range) in runs.enumerated() {
                            let start = text.utf8.index(index, offsetBy: range.lowerBound - offset)
                            let end = text.utf8.index(start, offsetBy: range.count)
                            text[start..<end].languageIdentifier = number % 2 == 0 ? "en" : "de"
                            (index, offset) = (end, range.upperBound)
                        }
                        return text.runs.reduce(0) { count, _ in count + 1 }
                    }
                })
        }
    }

    // MARK: Texts

    /// Paragraphs of sixty words, the same in each run.
    static func paragraphs(_ size: Int, isPlain: Bool) -> String {
        let words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett"]
        var state: UInt64 = 1
        var text = ""
        text.reserveCapacity(size + 1000)
        while text.utf8.count < size {
            for position in 0..<60 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let word = words[Int(state >> 33) % words.count]
                switch position {
                case _ where isPlain: text += word
                case 0, 15, 30, 45: text += "*\(word)*"
                case 7: text += "[\(word)](https://example.com/\(word))"
                case 20: text += "`\(word)`"
                case 33: text += "**\(word)**"
                default: text += word
                }
                text += position == 59 ? "\n\n" : " "
            }
        }
        return text
    }

    /// The Markdown files of this project, repeated up to a size.
    static func documentation(_ size: Int = 1_000_000) throws -> String {
        var text = ""
        for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "Benchmarks/README.md"] {
            let file = Programs.project.appending(path: name)
            text += String(decoding: try Data(contentsOf: file), as: UTF8.self) + "\n\n"
        }
        return String(repeating: text, count: max(1, size / text.utf8.count))
    }
}
