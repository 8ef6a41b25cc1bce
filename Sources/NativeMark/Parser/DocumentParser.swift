/// Parses a text in two phases: first the blocks, line by line, then the content of the leaf blocks.
///
/// The second phase needs all link reference definitions and footnotes, which may be at the end of the text.
enum DocumentParser {
    static func parse(_ markdown: String, options: Document.Options) -> DocumentStorage {
        parseCounting(markdown, options: options).storage
    }

    /// Also returns the number of steps: bytes looked at and links followed. It is proportional to the time. Tests of hostile input
    /// count steps instead of measuring time.
    static func parseCounting(
        _ markdown: String, options: Document.Options
    ) -> (storage: DocumentStorage, steps: Int) {
        var source = markdown
        source.makeContiguousUTF8()
        var builder = source.withUTF8 { bytes in
            precondition(
                bytes.count < Int(Int32.max) / 3,
                "A document must have at most 715,827,881 bytes; it has \(bytes.count).")
            var blocks = BlockParser(source: bytes, options: options)
            blocks.parse()
            return blocks.builder
        }
        InlinePhase.run(on: &builder, options: options)
        return (storage(source, options, builder), builder.steps)
    }

    /// Also returns the number of bytes that references may still add; see ``DocumentStream``.
    static func parse(
        part source: String, options: Document.Options, context: DocumentContext
    ) -> (storage: DocumentStorage, expansion: Int, steps: Int) {
        var source = source
        source.makeContiguousUTF8()
        var builder = source.withUTF8 { bytes in
            var blocks = BlockParser(source: bytes, options: options)
            blocks.beginsText = context.beginsText
            blocks.autocompletedCells = context.autocompletedCells
            blocks.maximalAutocompletedCells = BlockParser.maximalAutocompletedCells(ofLength: context.length)
            blocks.parse()
            return blocks.builder
        }
        let result = InlinePhase.run(on: &builder, options: options, context: context)
        return (storage(source, options, builder, uses: result.uses), result.expansion, builder.steps)
    }

    private static func storage(
        _ source: String, _ options: Document.Options, _ builder: DocumentBuilder, uses: [DocumentContext.Use] = []
    ) -> DocumentStorage {
        DocumentStorage(
            source: source, options: options, nodes: builder.nodes, bytes: builder.content, map: builder.map,
            strings: builder.strings, alignments: builder.alignments, uses: uses)
    }
}
