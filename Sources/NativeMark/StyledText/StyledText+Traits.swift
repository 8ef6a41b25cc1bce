extension StyledText {
    /// The semantic traits of a run relative to its block, for screen readers and Foundation's inline intents.
    struct Traits: OptionSet, Sendable, Hashable {
        let rawValue: Int

        static let emphasis = Traits(rawValue: 1)
        static let strong = Traits(rawValue: 2)
        static let code = Traits(rawValue: 4)
        static let strikethrough = Traits(rawValue: 8)
        static let lineBreak = Traits(rawValue: 16)
    }

    /// For example, bold text in a bold heading isn't strong, but heavier text is.
    func traits(of run: Run) -> Traits {
        let outer = blocks[run.block].style.text
        var traits: Traits = []
        if run.style.isItalic, !outer.isItalic { traits.insert(.emphasis) }
        if run.style.isBold, run.style.fontWeight > outer.fontWeight { traits.insert(.strong) }
        if run.style.fontDesign == .monospaced, outer.fontDesign != .monospaced { traits.insert(.code) }
        if run.style.isStruckThrough, !outer.isStruckThrough { traits.insert(.strikethrough) }
        if run.isLineBreak { traits.insert(.lineBreak) }
        return traits
    }
}
