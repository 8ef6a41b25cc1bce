enum Footnotes {
    /// Returns the position of the `]` of `[^label]` at `start`. A label contains no white space and no brackets.
    static func endOfLabel(in bytes: UnsafeBufferPointer<UInt8>, from start: Int, to limit: Int) -> Int? {
        guard start + 3 < limit + 1, start + 2 < limit, bytes[start] == 0x5B, bytes[start + 1] == 0x5E else {
            return nil
        }
        var index = start + 2
        while index < limit, index - start <= Labels.maximalLength {
            switch bytes[index] {
            case 0x5D: return index > start + 2 ? index : nil
            case 0x5B, 0x00...0x20: return nil
            default: index += 1
            }
        }
        return nil
    }
}
