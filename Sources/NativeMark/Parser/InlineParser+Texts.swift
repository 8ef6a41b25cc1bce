/// The final pass over a leaf: merges adjacent texts, and turns the e-mail addresses in them into links.
extension InlineParser {
    /// The maximum depth of emphasis, links and images. Deeper nodes are replaced by their children, because recursive code needs stack
    /// space in proportion to the depth of the tree.
    static var maximalDepth: Int { 100 }

    mutating func finishTexts() {
        var index = builder.nodes[Int(leaf)].firstChild
        var linkDepth = 0
        var depth = 0
        while index >= 0 {
            builder.steps &+= 1
            if depth >= Self.maximalDepth, builder.nodes[Int(index)].firstChild >= 0 {
                index = dissolve(index)
                continue
            }
            if builder.nodes[Int(index)].tag == .text {
                if needsAddresses { pieces.removeAll(keepingCapacity: true) }
                mergeFollowing(index, depth: depth)
                if needsAddresses, linkDepth == 0 { index = makeAddresses(in: index) }
                if builder.nodes[Int(index)].extra == 0 {
                    let next = following(index, &linkDepth, &depth)
                    builder.detach(index)
                    index = next
                    continue
                }
            }
            let child = builder.nodes[Int(index)].firstChild
            if child >= 0 {
                depth += 1
                if builder.nodes[Int(index)].tag == .link { linkDepth += 1 }
                index = child
            } else {
                index = following(index, &linkDepth, &depth)
            }
        }
    }

    /// Returns the next node of the traversal that isn't a descendant of this node.
    private func following(_ index: Int32, _ linkDepth: inout Int, _ depth: inout Int) -> Int32 {
        var index = index
        while index != leaf {
            let next = builder.nodes[Int(index)].next
            if next >= 0 { return next }
            index = builder.nodes[Int(index)].parent
            depth -= 1
            if builder.nodes[Int(index)].tag == .link { linkDepth -= 1 }
        }
        return -1
    }

    /// Replaces a node by its children, and returns the first child. Each node moves at most once, because its new parent isn't dissolved.
    private mutating func dissolve(_ index: Int32) -> Int32 {
        let node = builder.nodes[Int(index)]
        var child = node.firstChild
        while child >= 0 {
            builder.steps &+= 1
            builder.nodes[Int(child)].parent = node.parent
            child = builder.nodes[Int(child)].next
        }
        builder.nodes[Int(node.firstChild)].previous = index
        builder.nodes[Int(node.lastChild)].next = node.next
        if node.next >= 0 {
            builder.nodes[Int(node.next)].previous = node.lastChild
        } else {
            builder.nodes[Int(node.parent)].lastChild = node.lastChild
        }
        builder.nodes[Int(index)].next = node.firstChild
        builder.nodes[Int(index)].firstChild = -1
        builder.nodes[Int(index)].lastChild = -1
        builder.detach(index)
        return node.firstChild
    }

    /// A part of a merged text: its offset in the text, and its range in the content.
    struct Piece {
        var offset: Int32
        var start: Int32
        var end: Int32
        /// Whether each byte of the text is a byte of the content.
        var isLiteral: Bool
    }

    /// Merges the texts that follow a text into it, including texts in nodes that are too deep. No text is read twice.
    private mutating func mergeFollowing(_ index: Int32, depth: Int) {
        if needsAddresses { addPiece(builder.nodes[Int(index)], at: 0) }
        while true {
            let next = builder.nodes[Int(index)].next
            guard next >= 0 else { return }
            if depth >= Self.maximalDepth, builder.nodes[Int(next)].firstChild >= 0 {
                _ = dissolve(next)
                continue
            }
            guard builder.nodes[Int(next)].tag == .text else { return }
            let text = builder.nodes[Int(index)]
            let added = builder.nodes[Int(next)]
            builder.steps &+= 1
            if needsAddresses { addPiece(added, at: text.extra) }
            if added.extra == 0 || text.value + text.extra == added.value {
                builder.nodes[Int(index)].extra += added.extra
            } else if text.extra == 0 {
                builder.nodes[Int(index)].value = added.value
                builder.nodes[Int(index)].extra = added.extra
                builder.nodes[Int(index)].start = added.start
            } else {
                // The text is copied once; further texts are appended to the copy.
                if Int(text.value + text.extra) != bytes.count + extra.count {
                    builder.nodes[Int(index)].value = Int32(bytes.count + extra.count)
                    appendExtra(text)
                }
                appendExtra(added)
                builder.nodes[Int(index)].extra += added.extra
            }
            if added.extra > 0 || text.extra > 0 {
                builder.nodes[Int(index)].end = max(text.end, added.end)
            }
            builder.detach(next)
        }
    }

    private mutating func appendExtra(_ text: NodeRecord) {
        let first = Int(text.value)
        builder.steps &+= Int(text.extra)
        if first < bytes.count {
            extra += bytes[first..<first + Int(text.extra)]
        } else {
            let start = first - bytes.count
            extra.append(contentsOf: Array(extra[start..<start + Int(text.extra)]))
        }
    }

    // MARK: Addresses

    private mutating func addPiece(_ text: NodeRecord, at offset: Int32) {
        guard text.extra > 0 else { return }
        pieces.append(
            Piece(
                offset: offset, start: text.start, end: text.end,
                isLiteral: text.extra == text.end - text.start && Int(text.value) < bytes.count))
    }

    /// Converts a range of the merged text to a range of the content. The result includes an entity if the range contains its first byte.
    private func contentRange(_ range: Range<Int>) -> Range<Int> {
        func piece(at offset: Int) -> Piece {
            pieces[max(0, partitionPoint(of: pieces.count) { Int(pieces[$0].offset) <= offset } - 1)]
        }
        let first = piece(at: range.lowerBound)
        let start =
            first.isLiteral
            ? min(Int(first.start) + range.lowerBound - Int(first.offset), Int(first.end))
            : Int(range.lowerBound == Int(first.offset) ? first.start : first.end)
        guard let index = range.last else { return start..<start }
        let last = piece(at: index)
        let end = last.isLiteral ? Int(last.start) + index - Int(last.offset) + 1 : Int(last.end)
        return start..<max(start, end)
    }

    /// Splits a text at its e-mail addresses, and returns the last part.
    private mutating func makeAddresses(in text: Int32) -> Int32 {
        var rest = text
        // The offset of the rest in the merged text.
        var offset = 0
        while let found = address(in: builder.nodes[Int(rest)]) {
            let node = builder.nodes[Int(rest)]
            func part(_ range: Range<Int>, _ tag: NodeTag) -> NodeRecord {
                let source = contentRange(offset + range.lowerBound..<offset + range.upperBound)
                return NodeRecord(
                    tag, start: source.lowerBound, end: source.upperBound, value: Int(node.value) + range.lowerBound,
                    extra: range.count)
            }
            let first = Int(node.value) + found.lowerBound
            let address = (first..<first + found.count).map { byte(at: $0) }
            var link = part(found, .link)
            link.value = builder.add(
                LinkDestination.normalized(
                    address.starts(with: "mailto:".utf8) ? address : Array("mailto:".utf8) + address))
            link.extra = -1
            let linkNode = builder.insert(link, after: rest)
            _ = builder.append(part(found, .text), to: linkNode)
            let tail = builder.insert(part(found.upperBound..<Int(node.extra), .text), after: linkNode)
            let before = part(0..<found.lowerBound, .text)
            builder.nodes[Int(rest)].end = before.end
            builder.nodes[Int(rest)].extra = before.extra
            if before.extra == 0 { builder.detach(rest) }
            rest = tail
            offset += found.upperBound
        }
        return rest
    }

    private func byte(at index: Int) -> UInt8 { index < bytes.count ? bytes[index] : extra[index - bytes.count] }

    /// Returns the first e-mail address in a text, including a `mailto:` before it. An address is letters, digits, `.`, `-`, `_` and `+`,
    /// followed by an `@` and a domain that contains a period and ends with a letter or digit.
    private mutating func address(in node: NodeRecord) -> Range<Int>? {
        let base = Int(node.value)
        let count = Int(node.extra)
        var from = 0
        var at = 0
        while at < count {
            builder.steps &+= 1
            guard byte(at: base + at) == 0x40 else {
                at += 1
                continue
            }
            var first = at
            while first > from, byte(at: base + first - 1).isLocalCharacter { first -= 1 }
            var end = at + 1
            var dots = 0
            while end < count {
                let next = byte(at: base + end)
                if next == 0x2E {
                    guard end + 1 < count, byte(at: base + end + 1).isLetterOrDigit else { break }
                    dots += 1
                } else if !next.isLetterOrDigit, next != 0x2D, next != 0x5F {
                    break
                }
                end += 1
            }
            builder.steps &+= end - first
            let isComplete = end == count || byte(at: base + end) != 0x40
            if first < at, dots > 0, isComplete, byte(at: base + end - 1).isLetterOrDigit {
                let scheme = Array("mailto:".utf8)
                if first - from >= scheme.count,
                    scheme.indices.allSatisfy({ byte(at: base + first - scheme.count + $0) == scheme[$0] })
                {
                    first -= scheme.count
                }
                return first..<end
            }
            from = at + 1
            at = at + 1
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isLocalCharacter: Bool {
        isLetterOrDigit || self == 0x2E || self == 0x2D || self == 0x5F || self == 0x2B
    }
}
