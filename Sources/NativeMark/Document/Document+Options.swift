extension Document {
    /// The extensions of CommonMark that the parser recognizes.
    ///
    ///     var options = Document.Options.commonMark
    ///     options.tables = true
    ///
    /// By default, all extensions except ``smartPunctuation`` are on.
    public struct Options: Sendable, Hashable {
        /// Tables with a line of dashes below the header (GFM 4.10).
        public var tables = true
        /// `~struck~` and `~~struck~~` (GFM 6.5). Three tildes or more are text.
        public var strikethrough = true
        /// `- [ ] open` and `- [x] done` (GFM 5.3).
        public var taskItems = true
        /// Links without angle brackets: `www.`, `http://`, `https://` and e-mail addresses (GFM 6.9).
        public var autolinks = true
        /// `[^label]` references and `[^label]: text` definitions.
        public var footnotes = true
        /// Straight quotes become curly quotes, `--` and `---` become dashes, and `...` becomes an ellipsis.
        public var smartPunctuation = false

        /// Creates options with all extensions except ``smartPunctuation``.
        public init() {}

        /// CommonMark without extensions.
        public static let commonMark: Self = {
            var options = Self()
            options.tables = false
            options.strikethrough = false
            options.taskItems = false
            options.autolinks = false
            options.footnotes = false
            return options
        }()
    }
}
