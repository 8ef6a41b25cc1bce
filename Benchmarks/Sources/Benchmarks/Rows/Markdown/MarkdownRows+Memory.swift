import Foundation

/// The peak memory of parsing and rendering: the text, the tree and the HTML.
extension MarkdownRows {
    static var memory: Row {
        Row("markdown/peak memory, 20 MB of paragraphs with markup to HTML", .peakMebibytes, against: "cmark") {
            stage, rounds in
            let cmark = try Programs.found("cmark")
            let ours = try Programs.existing(
                stage.childUsage.deletingLastPathComponent().appending(path: "MarkdownToHTML"),
                remedy: "it is built with the benchmarks")
            try await stage.withDirectory { directory in
                let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
                let text = paragraphs(stage.count(20_000_000, quick: 5_000_000), isPlain: false)
                let input = directory.appending(path: "in.md")
                try Data(text.utf8).write(to: input)
                try await rounds(
                    { try await children.run(ours, [input.path]).sample(operations: 1, bytes: text.utf8.count) },
                    { try await children.run(cmark, [input.path]).sample(operations: 1, bytes: text.utf8.count) })
            }
        }
    }
}
