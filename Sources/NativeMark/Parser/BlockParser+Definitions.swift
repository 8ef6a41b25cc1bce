/// Link reference definitions (CommonMark 4.7).
extension BlockParser {
    mutating func readDefinitions(of index: Int) {
        let start = open[index].contentStart
        guard start < builder.content.count, builder.content[start] == 0x5B else { return }
        var position = start
        while position < builder.content.count, builder.content[position] == 0x5B {
            guard let end = readDefinition(at: position) else { break }
            position = end
        }
        guard position > start else { return }
        open[index].contentStart = position
        if position < builder.content.count {
            builder.nodes[Int(open[index].node)].start = Int32(
                builder.map.range(of: position..<position + 1).lowerBound)
        }
    }

    /// Returns the beginning of the next line, or `nil` if there is no definition.
    private mutating func readDefinition(at start: Int) -> Int? {
        let parsed: (label: Range<Int>, link: LinkParts, end: Int)? = builder.content.withUnsafeBufferPointer { bytes in
            guard let labelEnd = Labels.end(in: bytes, from: start, to: bytes.count), labelEnd + 1 < bytes.count,
                bytes[labelEnd + 1] == 0x3A
            else { return nil }
            var position = LinkParts.skipSpace(bytes, from: labelEnd + 2, to: bytes.count)
            guard let destination = LinkParts.destination(bytes, from: position, to: bytes.count) else { return nil }
            position = destination.end
            var parts = LinkParts(destination: destination.range)

            // If the title isn't followed by the end of the line, it isn't a title, and the destination must end the line.
            let titleStart = LinkParts.skipSpace(bytes, from: position, to: bytes.count)
            if titleStart > position, let title = LinkParts.title(bytes, from: titleStart, to: bytes.count),
                let end = LinkParts.endOfLine(bytes, from: title.end)
            {
                parts.title = title.range
                return (start + 1..<labelEnd, parts, end)
            }
            guard let end = LinkParts.endOfLine(bytes, from: position) else { return nil }
            return (start + 1..<labelEnd, parts, end)
        }
        builder.steps &+= (parsed?.end ?? builder.content.count) - start
        guard let parsed else { return nil }
        let label = builder.content.withUnsafeBufferPointer {
            Labels.folded(String(decoding: $0[parsed.label], as: UTF8.self))
        }
        guard !label.isEmpty else { return nil }
        let (destination, title) = builder.content.withUnsafeBufferPointer { bytes in
            (
                LinkDestination.normalized(
                    Unescaping.bytes(UnsafeBufferPointer(rebasing: bytes[parsed.link.destination]))),
                parsed.link.title.map { Unescaping.string(UnsafeBufferPointer(rebasing: bytes[$0])) }
            )
        }
        guard LinkDestination.isHarmless(destination) else { return nil }
        let definition = DocumentContext.Definition(
            destination: destination, title: title.flatMap { $0.isEmpty ? nil : $0 })
        builder.definitions.append(.init(label: label, definition: definition))
        if builder.references[label] == nil {
            regions?.definitions.append(.init(label: label, definition: definition))
            builder.references[label] = definition
        }
        return parsed.end
    }
}
