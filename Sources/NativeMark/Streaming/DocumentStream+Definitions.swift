/// The effects of later definitions on earlier blocks.
extension DocumentStream {
    /// Returns the blocks before `first` that look different because of the findings.
    mutating func take(_ found: RegionScan, before first: Int) -> [Int] {
        var changed: Set<Int> = []
        for found in found.definitions {
            context.definitions[found.label] = found.definition
            for index in waiting.removeValue(forKey: found.label) ?? [] where forget(index) { changed.insert(index) }
        }
        for (label, footnote) in found.footnotes {
            context.footnotes[label] = footnote
            guard let index = numbering.firstCandidate(of: label) else { continue }
            // The footnotes after it in the order get other numbers.
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

    /// The referenced footnotes as a separate document, in the order of the first reference to each, or `nil` if there are none.
    ///
    /// The document's source consists of the blocks that define footnotes, separated by thematic breaks. O(1) if nothing relevant has
    /// changed; otherwise linear in the length of all blocks that define or reference footnotes.
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
        // A thematic break closes whatever the previous part left open. Every part except the last ends with a line ending.
        let source = regions.filter(\.definesFootnotes).map { String(decoding: bytes[$0.range], as: UTF8.self) }
            .joined(separator: "***\n")
        return Document(storage: DocumentParser.parse(part: source, options: options, context: context).storage)
    }

    /// Parses the blocks that may refer to footnotes.
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
    fileprivate var footnotes: [(label: [UInt8], number: Int)] {
        storage.uses.compactMap {
            if case .footnote(let label, let footnote) = $0 { (label, footnote.number) } else { nil }
        }
    }
}
