import Foundation
import MD4CPeer
import NativeMark

/// The fastest parsers, in their processes: md4c and pulldown-cmark. Like them, ours builds no tree here.
extension MarkdownRows {
    static var peers: [Row] {
        let documentation = "1 MB of this project's documentation"
        let markup = "1.1 MB of paragraphs with markup"
        let plain = "1.1 MB of plain paragraphs"
        return [
            direct(documentation, against: "md4c", .atMost(1), isComparable: false) { try Self.documentation() },
            direct(markup, against: "md4c", .atMost(1)) { paragraphs(1_100_000, isPlain: false) },
            direct(plain, against: "md4c", .atMost(1)) { paragraphs(1_100_000, isPlain: true) },
            direct(documentation, against: "pulldown-cmark", .atMost(1), isComparable: false) {
                try Self.documentation()
            },
            direct(markup, against: "pulldown-cmark", .atMost(1)) { paragraphs(1_100_000, isPlain: false) },
            direct(plain, against: "pulldown-cmark", .atMost(1.3)) { paragraphs(1_100_000, isPlain: true) },
            program("", .processorMilliseconds, .below(170)),
            program(", peak memory", .peakMebibytes, .below(110)),
        ]
    }

    /// Each timed call begins with the text in memory and ends with the HTML in memory. The HTML of documentation differs in a few details,
    /// such as quotation marks, which not all escape.
    private static func direct(
        _ name: String, against peer: String, _ figure: Figure, isComparable: Bool = true,
        _ text: @escaping () throws -> String
    ) -> Row {
        Row("markdown/\(name) to HTML without a tree", .milliseconds, against: peer, figure: figure, slices: 5) {
            stage, rounds in
            try await stage.withDirectory { directory in
                let text = try text()
                let bytes = Array(text.utf8)
                let expected = html(text)
                if isComparable, peer == "md4c" {
                    guard withMD4C(bytes, { $0.elementsEqual(expected.utf8) }) == true else {
                        throw RowFailure.wrongResult("our HTML differs from that of md4c")
                    }
                }
                let python = peer == "md4c" ? nil : try PythonPeer("pyromark", in: directory, stage)
                let input = directory.appending(path: "in.md")
                try Data(bytes).write(to: input)
                let peerCount = withMD4C(bytes) { $0.count } ?? -1
                try await rounds(
                    {
                        try await timed(1, bytes: bytes.count, expecting: expected.utf8.count) {
                            html(text).utf8.count
                        }
                    },
                    {
                        guard let python else {
                            return try await timed(1, bytes: bytes.count, expecting: peerCount) {
                                withMD4C(bytes) { $0.count } ?? -2
                            }
                        }
                        return try await python.html(
                            of: input, size: bytes.count, expecting: isComparable ? expected.utf8.count : nil)
                    })
            }
        }
    }

    private static func html(_ text: String) -> String { HTMLRenderer().render(markdown: text, options: .commonMark) }

    private static func withMD4C<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        bytes.withUnsafeBytes { bytes in
            var html: UnsafeMutablePointer<CChar>?
            let count = md4c_peer_render(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, &html)
            defer { free(html) }
            return count < 0 ? nil : body(UnsafeRawBufferPointer(start: html, count: count))
        }
    }

    /// Whole processes that write HTML to /dev/null, both with tables, footnotes, strikethrough and task lists.
    private static func program(_ name: String, _ unit: Unit, _ figure: Figure) -> Row {
        Row(
            "markdown/sluice show --to html, 20 MB of this project's documentation\(name)", unit,
            against: "pulldown-cmark's program", figure: figure
        ) { stage, rounds in
            let peer = try Programs.found("pulldown-cmark")
            let shell = try Programs.found("sh")
            let ours = try Programs.existing(stage.sluice, remedy: "build it, or pass its path with --sluice")
            try await stage.withDirectory { directory in
                let children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
                let text = try documentation(stage.count(20_000_000, quick: 5_000_000))
                let input = directory.appending(path: "in.md")
                try Data(text.utf8).write(to: input)
                let size = text.utf8.count
                try await rounds(
                    {
                        try await children.run(ours, ["show", "--to", "html", input.path])
                            .sample(operations: 1, bytes: size)
                    },
                    {
                        try await children.run(
                            shell, ["-c", "exec \"$0\" -T -F -S -L <\"$1\"", peer.path, input.path]
                        ).sample(operations: 1, bytes: size)
                    })
            }
        }
    }
}
