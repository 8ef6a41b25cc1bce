extension StyleSheet {
    /// The built-in sheets, by the names used in `sluice show --style` and as `base` in JSON.
    ///
    ///     StyleSheet.named["github"]         // StyleSheet.github
    ///     StyleSheet.named.keys.sorted()     // ["default", "dracula", "github", "gruvbox", "nord", "solarized"]
    public static let named: [String: StyleSheet] = [
        "default": .default,
        "dracula": .dracula,
        "github": .github,
        "gruvbox": .gruvbox,
        "nord": .nord,
        "solarized": .solarized,
    ]
}

// MARK: - Default

extension StyleSheet {
    /// The default sheet: headings of decreasing size, muted code, block quotes with a bar.
    public static let `default` = StyleSheet()
        .setting(colors: standardColors)
        .setting(block: [
            .document: [.textStyle(.body), .color(.primary)],
            .paragraph: [.spacingAfter(.em(1))],
            .headings: [.fontWeight(.bold), .spacingBefore(.em(1)), .spacingAfter(.em(0.5))],
            .heading(level: 1): [.textStyle(.title1), .color(.accent)],
            .heading(level: 2): [.textStyle(.title2), .color(.accent)],
            .heading(level: 3): [.textStyle(.title3)],
            .heading(level: 4): [.textStyle(.headline)],
            .heading(level: 5): [.textStyle(.subheadline)],
            .heading(level: 6): [.textStyle(.subheadline), .color(.secondary)],
            .blockQuote: [
                .color(.secondary), .border(Border(edges: [.leading], width: .points(3))),
                .padding(Padding(leading: .em(0.5))), .spacingAfter(.em(1)),
            ],
            .codeBlock: [
                .fontDesign(.monospaced), .color(.code), .background(.codeBackground),
                .padding(Padding(leading: .em(0.5), trailing: .em(0.5))), .spacingAfter(.em(1)),
            ],
            .lists: [.spacingAfter(.em(1))],
            .list(.ordered): [.marker(.numbers([.decimal]))],
            .list(.bullets): [.marker(.bullets(["•", "◦", "▪"]))],
            .thematicBreak: [.color(.border), .spacingAfter(.em(1))],
            .table: [.tableLines(TableLines([.outer, .columns, .header])), .spacingAfter(.em(1))],
            .tableHeader: [.fontWeight(.bold)],
            .tableCell: [
                .padding(Padding(top: .em(0.2), leading: .em(0.6), bottom: .em(0.2), trailing: .em(0.6)))
            ],
            .footnotes: [.textStyle(.footnote), .spacingBefore(.em(1)), .border(Border(edges: [.top]))],
        ])
        .setting(inline: [
            .emphasis: [.italic(true)],
            .strong: [.bold(true)],
            .code: [.fontDesign(.monospaced), .color(.code), .inlineBackground(.codeBackground)],
            .link: [.color(.link), .underline(true)],
            .image: [.color(.secondary), .italic(true)],
            .strikethrough: [.strikethrough(true)],
            .footnoteReference: [.textStyle(.caption2), .color(.link), .baseline(.em(0.4))],
        ])
        .setting(tokens: [
            .keyword: .light(0xA626A4, dark: 0xFF7AB2),
            .type: .light(0x0B6E75, dark: 0x7FD6DB),
            .function: .light(0x2F5FC4, dark: 0x82AAFF),
            .string: .light(0xB3261E, dark: 0xFF8170),
            .number: .light(0x8A5A00, dark: 0xD9C97C),
            .constant: .light(0x8A5A00, dark: 0xD9C97C),
            .comment: .light(0x5B5B62, dark: 0xA6A6AE),
            .attribute: .light(0x7A3E9D, dark: 0xC8A0F0),
            .variable: .light(0x0B6E75, dark: 0x7FD6DB),
            .key: .light(0x2F5FC4, dark: 0x82AAFF),
            .inserted: .light(0x116329, dark: 0x7EE787),
            .deleted: .light(0xB3261E, dark: 0xFF8170),
        ])

    static let standardColors: [Role: Paint] = [
        .primary: Paint(.standard),
        .secondary: Paint(light: .rgb(0x5B5B62), dark: .rgb(0xA6A6AE)),
        .tertiary: Paint(light: .rgb(0x85858C), dark: .rgb(0x7C7C84)),
        .accent: Paint(light: .rgb(0x0050C8), dark: .rgb(0x7DB8FF)),
        .link: Paint(light: .rgb(0x005FCC), dark: .rgb(0x6CB6FF)),
        .code: Paint(light: .rgb(0x9A1750), dark: .rgb(0xFFB3D1)),
        .codeBackground: Paint(light: .rgb(0xF0F0F3), dark: .rgb(0x2A2A2E)),
        .border: Paint(light: .rgb(0xB8B8BE), dark: .rgb(0x5A5A60)),
    ]
}

// MARK: - GitHub

extension StyleSheet {
    /// The look of Markdown on GitHub: Primer's colors, semibold headings, and lines below the first two heading levels.
    ///
    /// The colors are the functional colors of Primer's light and dark themes (primer.style, Color). Sizes and lines come from
    /// github-markdown-css.
    public static let github = StyleSheet.default
        .setting(colors: [
            .primary: Paint(light: .rgb(0x1F2328), dark: .rgb(0xF0F6FC)),
            .secondary: Paint(light: .rgb(0x59636E), dark: .rgb(0x9198A1)),
            .tertiary: Paint(light: .rgb(0x59636E), dark: .rgb(0x9198A1)),
            .accent: Paint(light: .rgb(0x0969DA), dark: .rgb(0x4493F8)),
            .link: Paint(light: .rgb(0x0969DA), dark: .rgb(0x4493F8)),
            .code: Paint(light: .rgb(0x1F2328), dark: .rgb(0xF0F6FC)),
            .codeBackground: Paint(light: .rgb(0xF6F8FA), dark: .rgb(0x151B23)),
            .border: Paint(light: .rgb(0xD1D9E0), dark: .rgb(0x3D444D)),
        ])
        .setting(block: [
            .document: [.lineHeight(1.5)],
            .headings: [
                .fontWeight(.semibold), .lineHeight(1.25), .spacingBefore(.points(24)), .spacingAfter(.points(16)),
            ],
            .heading(level: 1): gitHubHeading(2) + [.border(Border(edges: [.bottom]))],
            .heading(level: 2): gitHubHeading(1.5) + [.border(Border(edges: [.bottom]))],
            .heading(level: 3): gitHubHeading(1.25),
            .heading(level: 4): gitHubHeading(1),
            .heading(level: 5): gitHubHeading(0.875),
            .heading(level: 6): gitHubHeading(0.85) + [.color(.secondary)],
            .blockQuote: [.border(Border(edges: [.leading], width: .em(0.25))), .padding(Padding(leading: .em(1)))],
            .codeBlock: [
                .fontSize(.em(0.85)), .background(.codeBackground), .padding(.all(.em(1))),
                .border(Border(edges: [], cornerRadius: .points(6))),
            ],
            .table: [.tableLines(TableLines()), .alternateRowBackground(.codeBackground)],
            .tableHeader: [.fontWeight(.semibold)],
            .tableCell: [
                .padding(Padding(top: .points(6), leading: .points(13), bottom: .points(6), trailing: .points(13)))
            ],
        ])
        .setting(inline: [
            .code: [
                .fontSize(.em(0.85)),
                .inlineBackground(
                    InlineBackground(
                        .codeBackground,
                        padding: Padding(top: .em(0.2), leading: .em(0.4), bottom: .em(0.2), trailing: .em(0.4)),
                        cornerRadius: .points(6))),
            ]
        ])
        .setting(tokens: [
            .keyword: .light(0xCF222E, dark: 0xFF7B72), .type: .light(0x953800, dark: 0xFFA657),
            .function: .light(0x6639BA, dark: 0xD2A8FF), .string: .light(0x0A3069, dark: 0xA5D6FF),
            .number: .light(0x0550AE, dark: 0x79C0FF), .constant: .light(0x0550AE, dark: 0x79C0FF),
            .comment: .light(0x59636E, dark: 0x9198A1), .attribute: .light(0x0550AE, dark: 0x79C0FF),
            .variable: .light(0x953800, dark: 0xFFA657), .key: .light(0x116329, dark: 0x7EE787),
            .inserted: .light(0x116329, dark: 0xAFF5B4), .deleted: .light(0x82071E, dark: 0xFFDCD7),
        ])

    private static func gitHubHeading(_ ems: Double) -> [BlockStyle] {
        [.textStyle(.body), .fontSize(.em(ems)), .color(.primary)]
    }
}

// MARK: - Themes of editors

/// Sheets with the colors of well-known editor themes. Everything else comes from ``StyleSheet/default``.
extension StyleSheet {
    /// The colors of Dracula, and of its light variant Alucard (draculatheme.com/spec).
    public static let dracula = Palette(
        text: .light(0x1F1F1F, dark: 0xF8F8F2), muted: .light(0x6C664B, dark: 0x9AA5CE),
        background: .light(0xF3EFDD, dark: 0x282A36), border: .light(0xCFCFDE, dark: 0x6272A4),
        red: .light(0xCB3A2A, dark: 0xFF5555), orange: .light(0xA34D14, dark: 0xFFB86C),
        yellow: .light(0x846E15, dark: 0xF1FA8C), green: .light(0x14710A, dark: 0x50FA7B),
        cyan: .light(0x036A96, dark: 0x8BE9FD), blue: .light(0x644AC9, dark: 0xBD93F9),
        magenta: .light(0xA3144D, dark: 0xFF79C6)
    ).sheet(
        heading: \.blue, link: \.cyan, keyword: \.magenta, type: \.cyan, function: \.green, string: \.yellow,
        constant: \.blue)

    /// The colors of Solarized (ethanschoonover.com/solarized). On a light background, yellow, green and cyan are darker than in the
    /// original.
    public static let solarized = Palette(
        text: .light(0x586E75, dark: 0x93A1A1), muted: .light(0x657B83, dark: 0x839496),
        background: .light(0xFDF6E3, dark: 0x002B36), border: .light(0x93A1A1, dark: 0x586E75),
        red: .light(0xDC322F, dark: 0xDC322F), orange: .light(0xCB4B16, dark: 0xCB4B16),
        yellow: .light(0x9A7400, dark: 0xB58900), green: .light(0x6F8000, dark: 0x859900),
        cyan: .light(0x1F8A82, dark: 0x2AA198), blue: .light(0x268BD2, dark: 0x268BD2),
        magenta: .light(0xD33682, dark: 0xD33682)
    ).sheet(
        heading: \.orange, link: \.blue, keyword: \.green, type: \.yellow, function: \.blue, string: \.cyan,
        constant: \.magenta)

    /// The colors of Nord (nordtheme.com/docs/colors-and-palettes). On a light background, the Aurora colors are darker than in the
    /// original.
    public static let nord = Palette(
        text: .light(0x2E3440, dark: 0xECEFF4), muted: .light(0x4C566A, dark: 0xA9B4C8),
        background: .light(0xECEFF4, dark: 0x2E3440), border: .light(0xB8C0CF, dark: 0x4C566A),
        red: .light(0xA0434D, dark: 0xD57780), orange: .light(0xA3593F, dark: 0xD08770),
        yellow: .light(0x8A6A1F, dark: 0xEBCB8B), green: .light(0x4F7137, dark: 0xA3BE8C),
        cyan: .light(0x2F6F80, dark: 0x88C0D0), blue: .light(0x44699A, dark: 0x81A1C1),
        magenta: .light(0x7F567A, dark: 0xB48EAD)
    ).sheet(
        heading: \.cyan, link: \.blue, keyword: \.blue, type: \.cyan, function: \.cyan, string: \.green,
        constant: \.magenta)

    /// The colors of Gruvbox (github.com/morhetz/gruvbox).
    public static let gruvbox = Palette(
        text: .light(0x3C3836, dark: 0xEBDBB2), muted: .light(0x7C6F64, dark: 0xA89984),
        background: .light(0xFBF1C7, dark: 0x282828), border: .light(0xBDAE93, dark: 0x665C54),
        red: .light(0x9D0006, dark: 0xFB4934), orange: .light(0xAF3A03, dark: 0xFE8019),
        yellow: .light(0x9A6210, dark: 0xFABD2F), green: .light(0x79740E, dark: 0xB8BB26),
        cyan: .light(0x427B58, dark: 0x8EC07C), blue: .light(0x076678, dark: 0x83A598),
        magenta: .light(0x8F3F71, dark: 0xD3869B)
    ).sheet(
        heading: \.yellow, link: \.blue, keyword: \.red, type: \.yellow, function: \.cyan, string: \.green,
        constant: \.magenta)
}

extension StyleSheet.Paint {
    static func light(_ light: UInt32, dark: UInt32) -> Self { Self(light: .rgb(light), dark: .rgb(dark)) }
}

/// The colors of a theme under their common names.
private struct Palette {
    var text: StyleSheet.Paint
    var muted: StyleSheet.Paint
    /// The color behind code.
    var background: StyleSheet.Paint
    var border: StyleSheet.Paint
    var red: StyleSheet.Paint
    var orange: StyleSheet.Paint
    var yellow: StyleSheet.Paint
    var green: StyleSheet.Paint
    var cyan: StyleSheet.Paint
    var blue: StyleSheet.Paint
    var magenta: StyleSheet.Paint

    typealias Name = KeyPath<Palette, StyleSheet.Paint>

    func sheet(
        heading: Name, link: Name, keyword: Name, type: Name, function: Name, string: Name, constant: Name
    ) -> StyleSheet {
        StyleSheet.default
            .setting(colors: [
                .primary: text, .secondary: muted, .tertiary: muted, .accent: self[keyPath: heading],
                .link: self[keyPath: link], .code: text, .codeBackground: background, .border: border,
            ])
            .setting(block: [.tableHeader: [.background(.codeBackground)]])
            .setting(inline: [
                .code: [.color(.paint(self[keyPath: constant]))],
                .strong: [.color(.paint(orange))],
            ])
            .setting(tokens: [
                .keyword: self[keyPath: keyword], .type: self[keyPath: type], .function: self[keyPath: function],
                .string: self[keyPath: string], .number: self[keyPath: constant], .constant: self[keyPath: constant],
                .comment: muted, .attribute: orange, .variable: orange, .key: self[keyPath: type], .inserted: green,
                .deleted: red,
            ])
    }
}

extension StyleSheet {
    /// Returns a copy with new colors for code tokens.
    func setting(tokens: [CodeToken.Kind: Paint]) -> StyleSheet {
        tokens.reduce(self) { $0.setting(inline: [.token($1.key): [.color(.paint($1.value))]]) }
    }
}
