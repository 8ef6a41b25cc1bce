/// What later text defines for earlier blocks.
extension DocumentStream {
    /// Takes what the parser has found; gives the blocks before some number that look different for it.
    mutating func take(_ found: RegionScan, before first: Int) -> [Int] {
        var changed: Set<Int> = []
        for (label, definition) in found.definitions {
            context.definitions[label] = definition
            for index in waiting.removeValue(forKey: label) ?? [] where forget(index) { changed.insert(index) }
        }
        for (label, footnote) in found.footnotes {
            context.footnotes[label] = footnote
            guard let index = numbering.firstCandidate(of: label) else { continue }
            // What comes behind it in the order gets another number.
            for index in numbering.seen(from: index) where forget(index) { changed.insert(index) }
            for label in numbering.forget(from: index) { context.footnotes[label]?.number = 0 }
            context.footnoteCount = numbering.order.count
        }
        for region in found.complete {
            let index = regions.count
            regions.append(
                Region(
                    range: region.range, definesFootnotes: region.definesFootnotes,
                    autocompletedCells: region.autocompletedCells))
            for label in region.labels where context.definitions[label] == nil {
                waiting[label, default: []].append(index)
            }
            if !region.footnoteLabels.isEmpty { numbering.add(index, labels: region.footnoteLabels) }
        }
        return changed.filter { $0 < first }.sorted()
    }

    /// The footnotes that are referred to, in the order of the first reference to each, as a document that has nothing else; nil if
    /// there is none.
    ///
    /// Linear in the length of all blocks with footnotes and references to them if anything of that has changed, O(1) otherwise.
    /// Its source is what defines the footnotes, with a line across in between.
    public var footnotes: Document? {
        mutating get {
            if let known = footnoteDocument { return known }
            let result = makeFootnotes()
            footnoteDocument = .some(result)
            return result
        }
    }

    private mutating func makeFootnotes() -> Document? {
        guard !context.footnotes.isEmpty else { return nil }
        numberFootnotes(upTo: regions.count)
        var order = numbering.order
        if regions.count < count {
            let document = block(at: regions.count).document
            order += document.footnotes.filter { $0.number > numbering.order.count }.map(\.label)
        }
        guard !order.isEmpty else { return nil }
        var context = context
        context.footnotesInOrder = order
        context.length = bytes.count
        // A line across ends whatever the part before has left open. Each but the last ends with a line.
        let source = regions.filter(\.definesFootnotes).map { String(decoding: bytes[$0.range], as: UTF8.self) }
            .joined(separator: "***\n")
        return Document(storage: DocumentParser.parse(part: source, options: options, context: context).storage)
    }

    /// Parses all complete blocks up to some number that may refer to footnotes, which numbers these.
    mutating func numberFootnotes(upTo last: Int) {
        while let index = numbering.next, index <= last {
            var new: [[UInt8]] = []
            for footnote in completeDocument(at: index).footnotes where footnote.number > context.footnoteCount {
                new.append(footnote.label)
                context.footnotes[footnote.label]?.number = footnote.number
            }
            numbering.advance(new)
            context.footnoteCount = numbering.order.count
        }
    }
}

extension Document {
    /// The footnotes that a part of a text refers to, in the order of the first reference to each.
    fileprivate var footnotes: [(label: [UInt8], number: Int)] {
        storage.uses.compactMap {
            if case .footnote(let label, let footnote) = $0 { (label, footnote.number) } else { nil }
        }
    }
}
