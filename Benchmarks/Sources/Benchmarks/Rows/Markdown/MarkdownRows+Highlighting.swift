import Foundation
import NativeMark

/// Finding the tokens of code, compared with the program highlight (andre-simon.de), which also writes them as text with escape sequences.
extension MarkdownRows {
    static var highlighting: Row {
        // 20 MB/s.
        Row("markdown/tokens of 1 MB of Swift", .milliseconds, against: "highlight", figure: .below(50)) {
            stage, rounds in
            let program = try Programs.found("highlight")
            try await stage.withDirectory { directory in
                let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
                let (code, file) = (try sources(1_000_000), directory.appending(path: "in.swift"))
                try Data(code.utf8).write(to: file)
                let expected = LanguageHighlighter().tokens(in: code, language: "swift").count
                try await rounds(
                    {
                        try await timed(1, bytes: code.utf8.count, expecting: expected) {
                            LanguageHighlighter().tokens(in: code, language: "swift").count
                        }
                    },
                    {
                        try await children.run(program, ["--syntax=swift", "--out-format=ansi", file.path])
                            .sample(operations: 1, bytes: code.utf8.count)
                    })
            }
        }
    }

    /// The concatenated source files of NativeMark, repeated up to a size.
    private static func sources(_ size: Int) throws -> String {
        let root = Programs.project.appending(path: "Sources/NativeMark")
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
        var text = ""
        for file in (files ?? []).sorted(by: { $0.path < $1.path }) where file.pathExtension == "swift" {
            text += String(decoding: try Data(contentsOf: file), as: UTF8.self)
        }
        return String(
            decoding: String(repeating: text, count: size / max(1, text.utf8.count) + 1).utf8.prefix(size),
            as: UTF8.self)
    }
}
