/// Links and images (CommonMark 6.3 and 6.4), and footnote references.
extension InlineParser {
    mutating func pushBracket(isImage: Bool, from first: Int) {
        flushText(to: first)
        let node = appendText(first..<position + 1)
        needsMerging = true
        if !brackets.isEmpty { brackets[brackets.count - 1].hasBracketAfter = true }
        brackets.append(
            Bracket(node: node, position: position, isImage: isImage, delimiterCount: delimiters.count))
        if !isImage { openLinkCount += 1 }
        position += 1
        textStart = position
    }

    mutating func parseClosingBracket() {
        let closer = position
        position += 1
        guard let opener = brackets.popLast() else { return }
        let isActive = opener.isImage || brackets.count >= linkFloor
        if !opener.isImage, isActive { openLinkCount -= 1 }
        linkFloor = min(linkFloor, brackets.count)
        guard isActive else { return }
        if let link = inlineLink(from: position) {
            make(link, of: opener, closer: closer)
        } else if !opener.isImage, options.footnotes, makeFootnoteReference(of: opener, closer: closer) {
            return
        } else if let link = referenceLink(of: opener, closer: closer) {
            make(link, of: opener, closer: closer)
        }
    }

    private struct Target {
        /// Indices in the strings.
        var destination: Int32
        var title: Int32
        var end: Int
    }

    private mutating func make(_ target: Target, of opener: Bracket, closer: Int) {
        flushText(to: closer)
        var record = NodeRecord(
            opener.isImage ? .image : .link, start: Int(builder.nodes[Int(opener.node)].start), end: target.end)
        record.value = target.destination
        record.extra = target.title
        let first = builder.nodes[Int(opener.node)].next
        let last = builder.nodes[Int(leaf)].lastChild
        let node = builder.insert(record, after: opener.node)
        if first >= 0 { builder.move(from: first, through: last, into: node) }
        processDelimiters(above: opener.delimiterCount)
        builder.detach(opener.node)
        if !opener.isImage {
            linkFloor = brackets.count
            openLinkCount = 0
        }
        position = target.end
        textStart = position
    }

    // MARK: Inline

    private mutating func inlineLink(from start: Int) -> Target? {
        guard start < limit, bytes[start] == 0x28 else { return nil }
        var index = LinkParts.skipSpace(bytes, from: start + 1, to: limit)
        var parts = LinkParts(destination: index..<index)
        if let destination = LinkParts.destination(bytes, from: index, to: limit) {
            parts.destination = destination.range
            let afterDestination = destination.end
            index = LinkParts.skipSpace(bytes, from: afterDestination, to: limit)
            if index > afterDestination, let title = LinkParts.title(bytes, from: index, to: limit) {
                parts.title = title.range
                index = LinkParts.skipSpace(bytes, from: title.end, to: limit)
            }
        }
        builder.steps &+= index - start
        guard index < limit, bytes[index] == 0x29 else { return nil }
        let destination = LinkDestination.normalized(
            Unescaping.bytes(UnsafeBufferPointer(rebasing: bytes[parts.destination])))
        guard LinkDestination.isHarmless(destination) else { return nil }
        let title = parts.title.map { Unescaping.string(UnsafeBufferPointer(rebasing: bytes[$0])) }
        return Target(
            destination: builder.add(destination),
            title: title.flatMap { $0.isEmpty ? nil : $0 }.map { builder.add($0) } ?? -1, end: index + 1)
    }

    // MARK: By reference

    private mutating func referenceLink(of opener: Bracket, closer: Int) -> Target? {
        guard hasReferences else { return nil }
        var label = opener.position..<closer
        var end = closer + 1
        var isFull = false
        if end < limit, bytes[end] == 0x5B, let labelEnd = Labels.end(in: bytes, from: end, to: limit) {
            builder.steps &+= labelEnd - end
            if labelEnd > end + 1 {
                label = end..<labelEnd
                isFull = true
            }
            end = labelEnd + 1
        }
        if !isFull {
            guard !opener.hasBracketAfter, Labels.end(in: bytes, from: label.lowerBound, to: closer + 1) == closer
            else {
                return nil
            }
            builder.steps &+= label.count
        }
        let key = Labels.folded(
            String(
                decoding: UnsafeBufferPointer(rebasing: bytes[label.lowerBound + 1..<label.upperBound]), as: UTF8.self))
        guard let reference = reference(key) else { return nil }
        guard reference.size <= expansionLeft else {
            isLimited = true
            return nil
        }
        expansionLeft -= reference.size
        region.expansion += reference.size
        return Target(destination: reference.destination, title: reference.title, end: end)
    }

    // MARK: Footnotes

    private mutating func makeFootnoteReference(of opener: Bracket, closer: Int) -> Bool {
        guard hasFootnotes, opener.position + 2 < closer, bytes[opener.position + 1] == 0x5E,
            Footnotes.endOfLabel(in: bytes, from: opener.position, to: closer + 1) == closer
        else { return false }
        let key = Labels.folded(
            String(decoding: UnsafeBufferPointer(rebasing: bytes[opener.position + 2..<closer]), as: UTF8.self))
        guard let footnote = useFootnote(key) else { return false }
        // The text between the brackets is a label, so its nodes are removed.
        flushText(to: closer)
        var node = builder.nodes[Int(opener.node)].next
        while node >= 0 {
            let next = builder.nodes[Int(node)].next
            builder.detach(node)
            node = next
        }
        forgetDelimiters(from: opener.delimiterCount)
        builder.detach(opener.node)
        var record = NodeRecord(.footnoteReference, start: opener.position, end: closer + 1)
        record.value = footnote.label
        record.extra = footnote.number
        _ = builder.append(record, to: leaf)
        textStart = position
        return true
    }
}
