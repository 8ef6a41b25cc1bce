import Testing

@testable import NativeMark

@Suite struct `Edits of hostile documents` {
    private static let table = `Hostile streams`.table

    @Test(arguments: table.indices) func `cost at most a parse, and have its result`(index: Int) {
        let (name, make) = Self.table[index]
        let source = make(1_000)
        let document = Document(source)
        let all = DocumentParser.parseCounting(source, options: .init()).steps
        for part in [0, 1, 2, 3] {
            var position = source.utf8.count * part / 3
            while position < source.utf8.count, Array(source.utf8)[position] & 0xC0 == 0x80 { position += 1 }
            for text in ["x", "\n\n", "`"] {
                let edited = document.replacing(position..<position, with: text)
                #expect(edited.difference(from: Document(edited.source)) == nil, "\(name) \(part) \(text)")
                let steps = DocumentParser.replacing(position..<position, of: document.storage, with: text).steps
                #expect(steps <= 2 * all + 2_000, "\(name) \(part) \(text)")
            }
        }
    }
}
