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
        var record = NodeRecord(.link, start: start, end: end)
        record.value = builder.add(destination)
        record.extra = -1
        let link = builder.append(record, to: leaf)
        var child = NodeRecord(.text, start: text.lowerBound, end: text.upperBound)
        child.value = Int32(text.lowerBound)
        child.extra = Int32(text.count)
        _ = builder.append(child, to: link)
        position = end
        textStart = end
    }

    private mutating func scheme(from first: Int) -> (Int, Bool)? {
        var index = first
        guard index < limit, bytes[index].isLetter else { return nil }
        while index < limit, index - first <= 32,
            bytes[index].isLetter || bytes[index].isDigit || bytes[index] == 0x2B || bytes[index] == 0x2E
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
            while index < limit, bytes[index].isLetter || bytes[index].isDigit || bytes[index] == 0x2D { index += 1 }
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
            first == start || !(bytes[first - 1].isLetter || bytes[first - 1].isDigit)
        else { return }
        guard let domainEnd = domain(from: colon + 3) else { return }
        makeBareLink(first, domainEnd, prefix: "")
    }

    /// Makes a link if the period at the current position follows `www`; returns whether it did.
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

    /// Links can't be nested.
    private var isInLink: Bool { openLinkCount > 0 }

    /// Returns the end of a domain of letters, digits, `-`, `_` and periods, or `nil` if its last two parts contain an underscore.
    private mutating func domain(from first: Int) -> Int? {
        if first < host.start || first >= host.end { readHost(from: first) }
        return host.end > first && host.underscore < max(first, host.beforeLastDot) ? host.end : nil
    }

    /// Reads a host name and stores it, because each part of `www.a_www.a_` may begin another one.
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
                guard byte.isLetter || byte.isDigit || byte == 0x2D else { break }
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

    /// Returns the end of a link without trailing punctuation, trailing entities and unmatched closing parentheses.
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
                while index > first, bytes[index - 1].isLetter || bytes[index - 1].isDigit { index -= 1 }
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
        if isLetter || isDigit { return true }
        switch self {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F, 0x3D, 0x3F, 0x5E...0x60, 0x7B...0x7E: return true
        default: return false
        }
    }
}
