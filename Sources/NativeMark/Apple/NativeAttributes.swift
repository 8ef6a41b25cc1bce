// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(Darwin)
public import Foundation

extension AttributeContainer {
    mutating func addNative(_ run: StyledText.Run, in text: StyledText, intents: inout [Int: PresentationIntent]) {
        typealias Keys = AttributeScopes.FoundationAttributes
        self[Keys.PresentationIntentAttribute.self] = PresentationIntent(ofBlock: run.block, in: text, known: &intents)
        let intent = InlinePresentationIntent(text.traits(of: run))
        if !intent.isEmpty { self[Keys.InlinePresentationIntentAttribute.self] = intent }
        if let link = run.link { self[Keys.LinkAttribute.self] = text.links[link].url() }
        #if canImport(SwiftUI)
        addSwiftUI(run.style)
        #endif
    }
}

extension InlinePresentationIntent {
    fileprivate init(_ traits: StyledText.Traits) {
        self = []
        if traits.contains(.emphasis) { insert(.emphasized) }
        if traits.contains(.strong) { insert(.stronglyEmphasized) }
        if traits.contains(.code) { insert(.code) }
        if traits.contains(.strikethrough) { insert(.strikethrough) }
        if traits.contains(.lineBreak) { insert(.lineBreak) }
    }
}

// MARK: - Presentation intents

extension PresentationIntent {
    /// Creates the presentation intent of a path's blocks, or returns `nil` if the path has none with an intent.
    ///
    /// Footnotes become items of an ordered list. The identity of a block is its index in ``StyledText/blocks``.
    public init?(_ path: StyledText.Path, in text: StyledText) {
        var known: [Int: PresentationIntent] = [:]
        self.init(ofBlock: path.number, in: text, known: &known)
    }

    /// `known` are the intents so far, by the numbers of their blocks. Without them, each cell of a table would copy the kind of the table,
    /// which describes all columns.
    init?(ofBlock block: Int, in text: StyledText, known: inout [Int: PresentationIntent]) {
        var intent: PresentationIntent?
        var numbers: [Int] = []
        var next: Int? = block
        while intent == nil, let number = next {
            intent = known[number]
            if intent == nil { numbers.append(number) }
            next = text.blocks[number].parent
        }
        for number in numbers.reversed() {
            guard let kind = Kind(text.blocks[number].kind) else { continue }
            intent = PresentationIntent(kind, identity: number, parent: intent)
            known[number] = intent
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
