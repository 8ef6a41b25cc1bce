/// Links and images (CommonMark 6.3 and 6.4), and footnote references.
extension InlineParser {
    mutating func pushBracket(isImage: Bool, from first: Int) {
        flushText(to: first)
        let node = appendText(first..<position + 1)
        looseTexts += 1
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
        let record = NodeRecord(
            opener.isImage ? .image : .link, start: Int(builder.nodes[Int(opener.node)].start), end: target.end,
            value: Int(target.destination), extra: Int(target.title))
        let first = builder.nodes[Int(opener.node)].next
        let last = builder.nodes[Int(leaf)].lastChild
        let node = builder.insert(record, after: opener.node)
        if first >= 0 { builder.move(from: first, through: last, into: node) }
        processDelimiters(above: opener.delimiterCount)
        builder.detach(opener.node)
        looseTexts -= 1
        nestingNodes += 1
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
        guard let link = parts.definition(in: bytes) else { return nil }
        return Target(
            destination: builder.add(link.destination), title: link.title.map { builder.add($0) } ?? -1, end: index + 1)
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
        guard let reference = reference(Labels.folded(bytes[label.lowerBound + 1..<label.upperBound])) else {
            return nil
        }
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
            Footnotes.endOfLabel(in: bytes, from: opener.position, to: closer + 1) == closer,
            let footnote = useFootnote(Labels.folded(bytes[opener.position + 2..<closer]))
        else { return false }
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
        _ = builder.append(
            NodeRecord(
                .footnoteReference, start: opener.position, end: closer + 1, value: Int(footnote.label),
                extra: Int(footnote.number)), to: leaf)
        textStart = position
        return true
    }
}

// MARK: - Autolinks

/// Autolinks in angle brackets (CommonMark 6.5) and bare autolinks (GFM 6.9).
extension InlineParser {
    mutating func parseAngle() {
        let first = position + 1
        guard let (end, isAddress) = scheme(from: first) ?? address(from: first) else {
            position += 1
            return
        }
        let text = Array(bytes[first..<end])
        let destination = LinkDestination.normalized(isAddress ? Array("mailto:".utf8) + text : text)
        guard LinkDestination.isHarmless(destination) else {
            position += 1
            return
        }
        flushText()
        appendLink(destination, text: first..<end, from: position, to: end + 1)
    }

    private mutating func appendLink(_ destination: String, text: Range<Int>, from start: Int, to end: Int) {
        let link = builder.append(
            NodeRecord(.link, start: start, end: end, value: Int(builder.add(destination)), extra: -1), to: leaf)
        _ = appendText(text, to: link)
        position = end
        textStart = end
    }

    private mutating func scheme(from first: Int) -> (Int, Bool)? {
        var index = first
        guard index < limit, bytes[index].isLetter else { return nil }
        while index < limit, index - first <= 32,
            bytes[index].isLetterOrDigit || bytes[index] == 0x2B || bytes[index] == 0x2E
                || bytes[index] == 0x2D
        {
            index += 1
        }
        guard (2...32).contains(index - first), index < limit, bytes[index] == 0x3A else { return nil }
        while index < limit, bytes[index] > 0x20, bytes[index] != 0x3C, bytes[index] != 0x3E { index += 1 }
        builder.steps &+= index - first
        return index < limit && bytes[index] == 0x3E ? (index, false) : nil
    }

    /// Parses an e-mail address up to the closing bracket, with the grammar of HTML's regular expression.
    private mutating func address(from first: Int) -> (Int, Bool)? {
        var index = first
        while index < limit, bytes[index].isAddressCharacter { index += 1 }
        builder.steps &+= index - first
        guard index > first, index < limit, bytes[index] == 0x40 else { return nil }
        repeat {
            let label = index + 1
            index = label
            while index < limit, bytes[index].isLetterOrDigit || bytes[index] == 0x2D { index += 1 }
            guard (1...63).contains(index - label), bytes[label] != 0x2D, bytes[index - 1] != 0x2D else { return nil }
        } while index < limit && bytes[index] == 0x2E
        return index < limit && bytes[index] == 0x3E ? (index, true) : nil
    }

    // MARK: Bare

    /// Makes a link if the colon at the current position follows `http` or `https` and precedes `//` and a host.
    mutating func parseScheme() {
        let colon = position
        position += 1
        guard !isInLink, colon + 2 < limit, bytes[colon + 1] == 0x2F, bytes[colon + 2] == 0x2F else { return }
        var first = colon
        while first > textStart, bytes[first - 1].isLetter, colon - first < 6 { first -= 1 }
        let name = bytes[first..<colon].map { $0 | 0x20 }
        guard name == Array("http".utf8) || name == Array("https".utf8),
            first == start || !bytes[first - 1].isLetterOrDigit
        else { return }
        guard let domainEnd = domain(from: colon + 3) else { return }
        makeBareLink(first, domainEnd, prefix: "")
    }

    /// Makes a link if the period at the current position follows `www`. Returns whether it did.
    mutating func parseWWW() -> Bool {
        let dot = position
        guard !isInLink, dot >= textStart + 3, dot + 1 < limit, bytes[dot - 1] | 0x20 == 0x77,
            bytes[dot - 2] | 0x20 == 0x77, bytes[dot - 3] | 0x20 == 0x77
        else { return false }
        let first = dot - 3
        if first > start {
            switch bytes[first - 1] {
            case 0x20, 0x09, 0x0A, 0x2A, 0x5F, 0x7E, 0x28: break
            default: return false
            }
        }
        guard let domainEnd = domain(from: first), domainEnd > dot + 1 else { return false }
        makeBareLink(first, domainEnd, prefix: "http://")
        return true
    }

    /// Whether the current position may be inside a link. Links can't be nested.
    private var isInLink: Bool { openLinkCount > 0 }

    /// Returns the end of a domain of letters, digits, `-`, `_` and periods, or `nil` if one of its last two parts contains an underscore.
    private mutating func domain(from first: Int) -> Int? {
        if first < host.start || first >= host.end { readHost(from: first) }
        return host.end > first && host.underscore < max(first, host.beforeLastDot) ? host.end : nil
    }

    /// Reads a host name and stores it, because each part of `www.a_www.a_` may begin another host name.
    private mutating func readHost(from first: Int) {
        host = Host(start: first, end: first)
        var lastDot = first
        var index = first
        while index < limit {
            let byte = bytes[index]
            if byte == 0x2E {
                host.beforeLastDot = lastDot
                lastDot = index
            } else if byte == 0x5F {
                host.underscore = index
            } else if byte < 0x80 {
                guard byte.isLetterOrDigit || byte == 0x2D else { break }
            } else if scalar(at: index).isMarkdownSpace || scalar(at: index).isMarkdownPunctuation {
                break
            } else {
                while index + 1 < limit, bytes[index + 1] & 0xC0 == 0x80 { index += 1 }
            }
            index += 1
        }
        builder.steps &+= index - first
        host.end = index
    }

    private mutating func makeBareLink(_ first: Int, _ domainEnd: Int, prefix: String) {
        var end = domainEnd
        while end < limit, bytes[end] > 0x20, bytes[end] != 0x3C { end += 1 }
        builder.steps &+= end - first
        end = trimmedEnd(first, end)
        guard end > first else { return }
        flushText(to: first)
        let destination = LinkDestination.normalized(Array(prefix.utf8) + bytes[first..<end])
        appendLink(destination, text: first..<end, from: first, to: end)
    }

    /// Returns the end of a link without trailing punctuation, trailing entities, or unmatched closing parentheses.
    private mutating func trimmedEnd(_ first: Int, _ last: Int) -> Int {
        var end = last
        var depth = 0
        for index in first..<end { depth += bytes[index] == 0x28 ? 1 : bytes[index] == 0x29 ? -1 : 0 }
        loop: while end > first {
            switch bytes[end - 1] {
            case 0x21, 0x22, 0x27, 0x2A, 0x2C, 0x2E, 0x3A, 0x3F, 0x5F, 0x7E: end -= 1
            case 0x29 where depth < 0:
                depth += 1
                end -= 1
            case 0x3B:
                var index = end - 1
                while index > first, bytes[index - 1].isLetterOrDigit { index -= 1 }
                guard index > first, index < end - 1, bytes[index - 1] == 0x26 else {
                    end -= 1
                    break
                }
                end = index - 1
            default: break loop
            }
        }
        builder.steps &+= last - end
        return end
    }
}

extension UInt8 {
    fileprivate var isAddressCharacter: Bool {
        if isLetterOrDigit { return true }
        switch self {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F, 0x3D, 0x3F, 0x5E...0x60, 0x7B...0x7E: return true
        default: return false
        }
    }
}
