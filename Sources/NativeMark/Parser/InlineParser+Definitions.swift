/// The meaning of labels, in the text itself or in the longer text that it is a part of.
extension InlineParser {
    var hasReferences: Bool { !definitions.isEmpty || context?.definitions.isEmpty == false }
    var hasFootnotes: Bool { !footnotes.isEmpty || context?.footnotes.isEmpty == false }

    mutating func reference(_ label: [UInt8]) -> DocumentBuilder.Reference? {
        if let reference = region.references[label] { return reference }
        // The context has only the first definition of each label, so it takes precedence over the part's own definitions.
        let shared = context?.definitions[label]
        guard let definition = shared ?? definitions[label] else { return nil }
        if shared != nil, usedDefinitions.insert(label).inserted {
            uses.append(.definition(label: label, definition))
        }
        let reference = DocumentBuilder.Reference(
            destination: builder.add(definition.destination), title: definition.title.map { builder.add($0) } ?? -1,
            size: definition.size)
        region.references[label] = reference
        return reference
    }

    /// Returns the index of a footnote's label in the strings and the footnote's number, or `nil` if there is no such footnote.
    mutating func useFootnote(_ label: [UInt8]) -> (label: Int32, number: Int32)? {
        if let known = region.footnotesByLabel[label] { return known }
        guard let footnote = footnote(label) else { return nil }
        let result = (builder.add(footnote.label), Int32(footnote.number))
        region.footnotesByLabel[label] = result
        region.footnotes.append(result.1)
        return result
    }

    /// Returns a footnote, which gets a number at the first call.
    mutating func footnote(_ label: [UInt8]) -> DocumentContext.Footnote? {
        if let known = numberedFootnotes[label] { return known }
        var footnote: DocumentContext.Footnote
        if let context, context.footnotesInOrder == nil {
            guard let found = context.footnotes[label] else { return nil }
            footnote = found
            if footnote.number == 0 {
                newFootnotes += 1
                footnote.number = context.footnoteCount + newFootnotes
            }
            uses.append(.footnote(label: label, footnote))
        } else {
            guard let found = footnotes[label] else { return nil }
            usedFootnotes.append(found)
            footnote = .init(label: found.label, number: usedFootnotes.count)
            if context != nil { uses.append(.footnote(label: label, .init(label: "", number: footnote.number))) }
        }
        numberedFootnotes[label] = footnote
        return footnote
    }

    /// The context for a part of the text that has been parsed.
    var resultingContext: DocumentContext {
        var result = DocumentContext()
        result.definitions = definitions
        for (label, footnote) in footnotes {
            result.footnotes[label] = numberedFootnotes[label] ?? .init(label: footnote.label, number: 0)
        }
        result.footnoteCount = usedFootnotes.count
        return result
    }

    // MARK: Regions

    /// What belongs to the region that is being parsed.
    struct Region {
        var builder = DocumentBuilder()
        var bytes = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        var extra: [UInt8] = []
        /// The references and footnotes whose strings the region has.
        var references: [[UInt8]: DocumentBuilder.Reference] = [:]
        var footnotesByLabel: [[UInt8]: (label: Int32, number: Int32)] = [:]
        /// The numbers of the footnotes in the order of their first references.
        var footnotes: [Int32] = []
        /// The number of bytes that references have added.
        var expansion = 0
    }

    /// Continues with another region, and returns the previous one.
    mutating func exchangeRegion(for other: consuming Region) -> Region {
        var result = region
        (result.builder, result.bytes, result.extra) = (builder, bytes, extra)
        steps &+= builder.steps
        result.builder.steps = 0
        (builder, bytes, extra) = (other.builder, other.bytes, other.extra)
        (other.builder, other.extra) = (DocumentBuilder(), [])
        region = other
        return result
    }

    /// Removes the current region. The next one uses its memory.
    mutating func endRegion() {
        steps &+= builder.steps
        builder.steps = 0
        builder.nodes.removeAll(keepingCapacity: true)
        builder.strings.removeAll(keepingCapacity: true)
        extra.removeAll(keepingCapacity: true)
        // Clearing a dictionary takes time linear in its capacity, so a large one isn't kept for many small regions.
        if !region.references.isEmpty { region.references = [:] }
        if !region.footnotes.isEmpty { (region.footnotesByLabel, region.footnotes) = ([:], []) }
        region.expansion = 0
    }
}
