// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(Darwin)
public import Foundation

extension PresentationIntent {
    /// Creates the presentation intent of a path's blocks, or returns `nil` if the path has none with an intent.
    ///
    /// Footnotes become items of an ordered list. The identity of a block is its index in ``StyledText/blocks``.
    public init?(_ path: StyledText.Path, in text: StyledText) {
        var intent: PresentationIntent?
        var numbers: [Int] = []
        var next: Int? = path.number
        while let number = next {
            numbers.append(number)
            next = text.blocks[number].parent
        }
        for number in numbers.reversed() {
            guard let kind = Kind(text.blocks[number].kind) else { continue }
            intent = PresentationIntent(kind, identity: number, parent: intent)
        }
        guard let intent else { return nil }
        self = intent
    }
}

extension PresentationIntent.Kind {
    fileprivate init?(_ kind: StyledText.Kind) {
        switch kind {
        case .document: return nil
        case .paragraph: self = .paragraph
        case .heading(let level): self = .header(level: level)
        case .blockQuote: self = .blockQuote
        case .codeBlock(let language): self = .codeBlock(languageHint: language)
        case .list(let list): self = list.isOrdered ? .orderedList : .unorderedList
        case .item(let item): self = .listItem(ordinal: item.number ?? 1)
        case .thematicBreak: self = .thematicBreak
        case .table(let alignments):
            self = .table(
                columns: alignments.map {
                    switch $0 {
                    case .none, .leading: .init(alignment: .left)
                    case .center: .init(alignment: .center)
                    case .trailing: .init(alignment: .right)
                    }
                })
        case .tableRow(let row): self = row == 0 ? .tableHeaderRow : .tableRow(rowIndex: row)
        case .tableCell(_, let column, _): self = .tableCell(columnIndex: column)
        case .footnotes: self = .orderedList
        case .footnote(_, let number): self = .listItem(ordinal: number)
        }
    }
}
#endif
