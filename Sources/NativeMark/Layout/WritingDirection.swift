extension StyledText {
    /// Whether each block is written from right to left, by its index: as the first strong character of its text says. Blocks without one
    /// follow the block around them, and code is written from left to right.
    func rightToLeftBlocks() -> [Bool] {
        var directions: [Bool?] = Array(repeating: nil, count: blocks.count)
        // From the end, so that the first of several blocks inside determines the direction of the outer one.
        for index in blocks.indices.reversed() {
            let block = blocks[index]
            if block.isCode { continue }
            if block.isLeaf { directions[index] = substring(block.range).isRightToLeft }
            if let direction = directions[index], let parent = block.parent { directions[parent] = direction }
        }
        var result: [Bool] = []
        for (index, block) in blocks.enumerated() {
            result.append(!block.isCode && (directions[index] ?? block.parent.map { result[$0] } ?? false))
        }
        return result
    }
}

extension StringProtocol {
    /// Whether the first strong character is written from right to left, or `nil` if there is none (Unicode Bidirectional Algorithm, rules P2
    /// and P3). Text between isolates doesn't count.
    var isRightToLeft: Bool? {
        var isolates = 0
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0x2066...0x2068: isolates += 1
            case 0x2069 where isolates > 0: isolates -= 1
            case _ where isolates > 0: break
            case 0x200E: return false
            case 0x200F, 0x061C: return true
            case 0x41...0x5A, 0x61...0x7A: return false
            case 0..<0x80: break
            default: if let direction = scalar.isRightToLeft { return direction }
            }
        }
        return nil
    }
}

extension Unicode.Scalar {
    /// Letters in the blocks that Unicode reserves for scripts from right to left have that direction (DerivedBidiClass.txt). Marks, digits
    /// and punctuation have none.
    fileprivate var isRightToLeft: Bool? {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: break
        default: return nil
        }
        return switch value {
        case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
        default: false
        }
    }
}

extension ResolvedBlockStyle.Border {
    /// The border as drawing commands have it: `leading` is the left edge.
    func placed(isRightToLeft: Bool) -> Self {
        guard isRightToLeft else { return self }
        var border = self
        border.edges = Set(
            edges.map { edge in
                switch edge {
                case .leading: .trailing
                case .trailing: .leading
                case .top, .bottom: edge
                }
            })
        return border
    }
}
