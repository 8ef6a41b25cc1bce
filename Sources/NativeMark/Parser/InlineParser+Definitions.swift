/// The meaning of labels, in the text itself or in the longer text that it is a part of.
extension InlineParser {
    var hasReferences: Bool { !builder.references.isEmpty || context?.definitions.isEmpty == false }
    var hasFootnotes: Bool { !builder.footnotes.isEmpty || context?.footnotes.isEmpty == false }

    mutating func reference(_ label: [UInt8]) -> DocumentBuilder.Reference? {
        guard let context else { return builder.references[label] }
        if let reference = adopted[label] { return reference }
        // The context has only the first definition of each label, so it takes precedence over the part's own definitions.
        guard let definition = context.definitions[label] else { return builder.references[label] }
        let reference = DocumentBuilder.Reference(
            destination: builder.add(definition.destination), title: definition.title.map { builder.add($0) } ?? -1,
            size: definition.size)
        adopted[label] = reference
        uses.append(.definition(label: label, definition))
        return reference
    }

    /// Returns the index of a footnote's label in the strings and the footnote's number, or `nil` if there is no such footnote.
    mutating func useFootnote(_ label: [UInt8]) -> (label: Int32, number: Int32)? {
        if let context, context.footnotesInOrder == nil { return useFootnote(label, of: context) }
        guard var footnote = builder.footnotes[label] else { return nil }
        if footnote.number == 0 {
            usedFootnotes.append(footnote)
            footnote.number = Int32(usedFootnotes.count)
            builder.footnotes[label] = footnote
            if context != nil { uses.append(.footnote(label: label, .init(label: "", number: usedFootnotes.count))) }
        }
        return (builder.nodes[Int(footnote.node)].value, footnote.number)
    }

    private mutating func useFootnote(
        _ label: [UInt8], of context: DocumentContext
    ) -> (label: Int32, number: Int32)? {
        if let known = footnotesOfContext[label] { return known }
        guard var footnote = context.footnotes[label] else { return nil }
        if footnote.number == 0 {
            newFootnotes += 1
            footnote.number = context.footnoteCount + newFootnotes
        }
        let result = (builder.add(footnote.label), Int32(footnote.number))
        footnotesOfContext[label] = result
        uses.append(.footnote(label: label, footnote))
        return result
    }
}
