import NativeMark

/// Text that arrives in small pieces, compared with one parse of the whole text.
extension MarkdownRows {
    static var stream: [Row] {
        [
            stream("1 MB appended in pieces of 64 bytes", figure: .atMost(3)) { stream, piece in
                _ = stream.append(piece)
            } end: {
                $0.source.utf8.count
            },
            stream("1 MB in pieces of 64 bytes, its blocks parsed at the end") { stream, piece in
                _ = stream.append(piece)
            } end: {
                size(of: &$0)
            },
            stream("1 MB in pieces of 64 bytes, each change parsed", figure: .atMost(5)) { stream, piece in
                for index in stream.append(piece).blocks { blackHole(stream.block(at: index)) }
            } end: {
                size(of: &$0)
            },
            stream("1 MB in pieces of 64 bytes, each change drawn for a terminal") { stream, piece in
                for index in stream.append(piece).blocks {
                    blackHole(terminal.render(stream.block(at: index).document))
                }
            } end: {
                size(of: &$0)
            },
        ]
    }

    private static let terminal = TerminalRenderer(width: 80, color: .ansi256)

    private static func stream(
        _ name: String, figure: Figure? = nil, _ append: @escaping (inout DocumentStream, String) -> Void,
        end: @escaping (inout DocumentStream) -> Int
    ) -> Row {
        Row("markdown/stream: \(name)", .milliseconds, against: "one parse", figure: figure, slices: 5) { _, rounds in
            let text = paragraphs(1_000_000, isPlain: false)
            let pieces = pieces(of: text, size: 64)
            try await rounds(
                {
                    try await timed(1, bytes: text.utf8.count, expecting: text.utf8.count) {
                        var stream = DocumentStream()
                        for piece in pieces { append(&stream, piece) }
                        stream.finish()
                        return end(&stream)
                    }
                },
                {
                    try await timed(1, bytes: text.utf8.count, expecting: text.utf8.count) {
                        Document(text).source.utf8.count
                    }
                })
        }
    }

    /// Returns the size of all blocks, and parses those that aren't parsed yet.
    private static func size(of stream: inout DocumentStream) -> Int {
        stream.blocks.reduce(0) { $0 + $1.document.source.utf8.count }
    }

    private static func pieces(of text: String, size: Int) -> [String] {
        var result: [String] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            result.append(String(Substring(rest.prefix(size))))
            rest = rest.dropFirst(size)
        }
        return result
    }
}
