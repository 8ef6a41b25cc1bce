extension Document {
    /// What is read beside CommonMark.
    ///
    ///     var options = Document.Options.commonMark
    ///     options.tables = true
    ///
    /// By default all extensions are on but ``smartPunctuation``.
    public struct Options: Sendable, Hashable {
        /// Tables with a line of dashes below the header (GFM 4.10).
        public var tables = true
        /// `~~struck~~` (GFM 6.5), with two tildes.
        public var strikethrough = true
        /// `- [ ] open` and `- [x] done` (GFM 5.3).
        public var taskItems = true
        /// Links without angle brackets: `www.`, `http://`, `https://` and e-mail addresses (GFM 6.9).
        public var autolinks = true
        /// `[^label]`, and `[^label]: text` somewhere else.
        public var footnotes = true
        /// Turns straight quotes into curly ones, `--` and `---` into dashes, `...` into an ellipsis.
        public var smartPunctuation = false

        /// The extensions of GFM, and footnotes.
        public init() {}

        /// CommonMark and nothing else.
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
