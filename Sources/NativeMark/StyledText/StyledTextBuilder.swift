struct StyledTextBuilder {
    private var text: StyledText
    private let sheet: ResolvedStyleSheet
    private let highlighter: (any CodeHighlighter)?

    /// The indices of the open blocks, outermost first.
    private var open: [Int] = []
    /// The style of the innermost block and of each open inline node. Never empty inside a block.
    private var inlines: [ResolvedTextStyle] = []
    private var link: Int?
    /// The image whose children are skipped, because its alternative text has already been appended.
    private var skippedImage: Int?
    private var counters: [Counter] = []
    /// The last block that contains text directly.
    private var lastLeaf: Int?
    private var quoteDepth = 0
    private var footnotes = 0
    /// The first block of the document.
    private let first: Document.Node.ID?
    /// The last block of the document, or `nil` and whether it is a footnote.
    private let last: (id: Document.Node.ID?, isFootnote: Bool)
    /// Whether the node that has been entered is the first block, and whether it is the last one.
    private var (isFirst, isLast) = (false, false)
    private var rows = 0
    private var columns = 0

    private struct Counter {
        var list: Document.List
        var next: Int
        var marker: StyleSheet.Marker
        var taskMarker: ResolvedBlockStyle.TaskMarker?
        var depth: Int
    }

    init(
        text: StyledText, sheet: ResolvedStyleSheet, highlighter: (any CodeHighlighter)?, first: Document.Node?,
        last: Document.Node?
    ) {
        self.first = first?.id
        if case .footnoteDefinition = last?.kind { self.last = (nil, true) } else { self.last = (last?.id, false) }
        self.text = text
        self.sheet = sheet
        self.highlighter = highlighter
    }

    func finished() -> StyledText { text }

    mutating func enter(_ node: Document.Node) {
        guard skippedImage == nil else { return }
        let kind = node.kind
        if open.count == 1 { (isFirst, isLast) = (node.id == first, node.id == last.id) }
        switch kind {
        case .document: begin(.document, [.document])
        case .paragraph:
            begin(.paragraph, [.paragraph], isClose: isInTightItem)
            separate()
        case .heading(let level):
            begin(.heading(level: level), [.headings, .heading(level: level)])
            separate()
        case .blockQuote:
            quoteDepth += 1
            begin(.blockQuote(depth: quoteDepth), [.blockQuote])
        case .codeBlock(let info, _):
            let language = info.firstWordOfInfo
            begin(.codeBlock(language: language.isEmpty ? nil : language), [.codeBlock])
            separate()
        case .thematicBreak:
            begin(.thematicBreak, [.thematicBreak])
            separate()
            if case .ornament(let ornament, let alignment) = text.blocks[text.blocks.count - 1].style.divider {
                text.blocks[text.blocks.count - 1].style.alignment = alignment
                append(StyleSheet.Divider.limited(ornament))
            } else {
                append("⸻")
            }
            end()
        case .list(let list): beginList(list)
        case .item(let task): beginItem(task)
        case .table(let alignments):
            rows = 0
            begin(.table(alignments: alignments), [.table])
        case .tableRow(let isHeader):
            columns = 0
            let table = open.last
            begin(.tableRow(rows), [isHeader ? .tableHeader : .tableRow])
            if rows > 0, rows.isMultiple(of: 2),
                let color = table.flatMap({ text.blocks[$0].style.alternateRowBackground })
            {
                text.blocks[text.blocks.count - 1].style.background = color
            }
        case .tableCell(let alignment):
            begin(.tableCell(row: rows, column: columns, alignment: alignment), [.tableCell])
            separate(by: columns == 0 ? "\n" : "\t")
        case .footnoteDefinition(let label):
            if footnotes == 0 {
                isLast = last.isFootnote
                begin(.footnotes, [.footnotes])
            }
            footnotes += 1
            begin(.footnote(label: label, number: footnotes), [.footnote])
        default: enterInline(kind, node)
        }
    }

    mutating func leave(_ node: Document.Node) {
        if let image = skippedImage {
            if image == node.id { skippedImage = nil }
            return
        }
        switch node.kind {
        case .thematicBreak, .text, .softBreak, .lineBreak, .code, .footnoteReference, .image: break
        case .emphasis, .strong, .strikethrough: inlines.removeLast()
        case .link:
            inlines.removeLast()
            link = nil
        case .document:
            if footnotes > 0 { end() }
            end()
        case .blockQuote:
            quoteDepth -= 1
            end()
        case .list:
            counters.removeLast()
            end()
        case .tableRow:
            rows += 1
            end()
        case .tableCell:
            columns += 1
            end()
        default: end()
        }
    }

    private mutating func enterInline(_ kind: Document.Kind, _ node: Document.Node) {
        switch kind {
        case .text(let string):
            if case .codeBlock(let language) = text.blocks[open.last ?? 0].kind {
                appendCode(string, language: language ?? "")
            } else {
                append(string)
            }
        case .softBreak: append(" ")
        case .lineBreak: append("\u{2028}", isLineBreak: true)
        case .code(let string): append(string, style: sheet.text(.code, in: current))
        case .emphasis: inlines.append(sheet.text(.emphasis, in: current))
        case .strong: inlines.append(sheet.text(.strong, in: current))
        case .strikethrough: inlines.append(sheet.text(.strikethrough, in: current))
        case .link(let destination, let title):
            link = text.links.count
            text.links.append(.init(destination: destination, title: title))
            inlines.append(sheet.text(.link, in: current))
        case .image(let source, let title):
            skippedImage = node.id
            let alternative = node.plainText.replacingLineFeeds()
            text.images.append(.init(source: source, title: title, alternativeText: alternative))
            append(
                alternative.isEmpty ? "\u{FFFC}" : alternative, style: sheet.text(.image, in: current),
                image: text.images.count - 1)
        case .footnoteReference(_, let number):
            append(String(number), style: sheet.text(.footnoteReference, in: current), footnote: number)
        default: break
        }
    }
}

// MARK: Blocks

extension StyledTextBuilder {
    private var current: ResolvedTextStyle { inlines.last ?? sheet.document.text }

    private mutating func begin(
        _ kind: StyledText.Kind, _ selectors: [StyleSheet.BlockSelector], isClose: Bool = false
    ) {
        let parent = open.last
        var selectors = selectors
        if open.count == 1 {
            if isFirst { selectors.append(.firstBlock) }
            if isLast { selectors.append(.lastBlock) }
        }
        var style = sheet.block(selectors, in: parent.map { text.blocks[$0].style })
        if selectors.contains(.firstBlock),
            sheet.sheet.blocks[.firstBlock]?.contains(where: { $0.isSpacingBefore }) == true
        {
            text.ends.above = style.spacingBefore
        }
        if selectors.contains(.lastBlock),
            sheet.sheet.blocks[.lastBlock]?.contains(where: { $0.isSpacingAfter }) == true
        {
            text.ends.below = style.spacingAfter
        }
        if isClose {
            style.spacingBefore = 0
            style.spacingAfter = 0
        }
        let position = text.string.utf8.count
        open.append(text.blocks.count)
        inlines = [style.text]
        text.blocks.append(.init(kind: kind, style: style, parent: parent, range: position..<position, end: 0))
    }

    private mutating func end() {
        let index = open.removeLast()
        let start = text.blocks[index].range.lowerBound
        text.blocks[index].range = start..<text.string.utf8.count
        text.blocks[index].end = text.blocks.count
        inlines = open.last.map { [text.blocks[$0].style.text] } ?? []
    }

    /// Appends a separator before a block with text, unless it is the first one. Moves the start of the block, and of the enclosing blocks
    /// that begin with it, past the separator.
    private mutating func separate(by separator: String = "\n") {
        defer { lastLeaf = text.blocks.count - 1 }
        guard let lastLeaf else { return }
        text.string += separator
        let position = text.string.utf8.count
        for index in open.reversed() {
            guard index > lastLeaf else { break }
            text.blocks[index].range = position..<position
        }
        // Empty blocks that have already ended, such as an empty item, move with their parents.
        for index in lastLeaf + 1..<text.blocks.count {
            guard let parent = text.blocks[index].parent, parent > lastLeaf else { continue }
            if text.blocks[parent].range.lowerBound == position { text.blocks[index].range = position..<position }
        }
    }

    private var isInTightItem: Bool {
        guard let parent = open.last, case .item = text.blocks[parent].kind else { return false }
        return counters.last?.list.isTight ?? false
    }

    private mutating func beginList(_ list: Document.List) {
        let isOrdered = list.start != nil
        let isClose = isInTightItem
        let depth = counters.count { ($0.list.start != nil) == isOrdered }
        begin(
            .list(.init(isOrdered: isOrdered, depth: counters.count + 1, isTight: list.isTight)),
            [
                .lists, .list(isOrdered ? .ordered : .bullets), .list(level: counters.count + 1),
                .list(tight: list.isTight),
            ],
            isClose: isClose)
        let style = text.blocks[text.blocks.count - 1].style
        counters.append(
            Counter(
                list: list, next: list.start ?? 0,
                marker: style.marker ?? (isOrdered ? .numbers([.decimal]) : .bullets(["•"])),
                taskMarker: style.taskMarker, depth: depth))
    }

    private mutating func beginItem(_ task: Document.TaskState?) {
        var number: Int?
        var marker = ""
        if let counter = counters.last {
            number = counter.list.start == nil ? nil : counter.next
            marker = counter.marker.text(number: number, delimiter: counter.list.marker, depth: counter.depth)
            counters[counters.count - 1].next += 1
        }
        var shape: StyleSheet.Bullet?
        if let task {
            let box = (counters.last?.taskMarker).text(of: task)
            marker = number == nil || marker.isEmpty ? box : marker + " " + box
        } else if number == nil, let counter = counters.last {
            shape = counter.marker.shape(depth: counter.depth)
        }
        var item = StyledText.Item(number: number, marker: marker, task: task)
        item.shape = shape
        begin(.item(item), [.item] + (task.map { [.taskItem($0)] } ?? []))
    }
}

// MARK: Text

extension StyledTextBuilder {
    private mutating func append(
        _ string: String, style: ResolvedTextStyle? = nil, image: Int? = nil, footnote: Int? = nil,
        isLineBreak: Bool = false
    ) {
        guard !string.isEmpty, let block = open.last else { return }
        let start = text.string.utf8.count
        text.string += string
        let run = StyledText.Run(
            range: start..<text.string.utf8.count, style: style ?? current, block: block, link: link, image: image,
            footnote: footnote, isLineBreak: isLineBreak)
        // Text joins the previous run if nothing else differs, so a soft break doesn't split a run.
        if let last = text.runs.last, last.joins(run) {
            text.runs[text.runs.count - 1].range = last.range.lowerBound..<run.range.upperBound
        } else {
            text.runs.append(run)
        }
    }

    private mutating func appendCode(_ string: String, language: String) {
        let code = string.hasSuffix("\n") ? String(string.dropLast()) : string
        guard let highlighter, !code.isEmpty else { return append(code) }
        let plain = current
        var styles: [CodeToken.Kind: ResolvedTextStyle] = [:]
        var index = code.utf8.startIndex
        var offset = 0
        for token in highlighter.tokens(in: code, ofBlock: language) {
            let style = styles[token.kind] ?? sheet.text(.token(token.kind), in: plain)
            styles[token.kind] = style
            let start = code.utf8.index(index, offsetBy: token.range.lowerBound - offset)
            let end = code.utf8.index(start, offsetBy: token.range.count)
            append(String(code[index..<start]))
            append(String(code[start..<end]), style: style)
            index = end
            offset = token.range.upperBound
        }
        append(String(code[index...]))
    }
}

extension StyleSheet.BlockStyle {
    fileprivate var isSpacingBefore: Bool { if case .spacingBefore = self { true } else { false } }
    fileprivate var isSpacingAfter: Bool { if case .spacingAfter = self { true } else { false } }
}

extension StyledText.Run {
    fileprivate func joins(_ next: Self) -> Bool {
        range.upperBound == next.range.lowerBound && image == nil && next.image == nil && footnote == nil
            && next.footnote == nil && !isLineBreak && !next.isLineBreak && block == next.block && link == next.link
            && style == next.style
    }
}

extension String {
    func replacingLineFeeds() -> String {
        utf8.contains(0x0A) ? String(map { $0.isNewline ? " " : $0 }) : self
    }
}
