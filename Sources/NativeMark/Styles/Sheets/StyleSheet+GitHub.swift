extension StyleSheet {
    /// The appearance of Markdown on GitHub: the colors of Primer, semibold headings, and lines below the first two levels.
    ///
    /// The colors are the functional colors of Primer's light and dark themes (primer.style, Color), the sizes and lines those of
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
            .codeBlock: [.fontSize(.em(0.85)), .background(.codeBackground), .padding(.all(.em(1)))],
            .tableHeader: [.fontWeight(.semibold)],
        ])
        .setting(inline: [
            .code: [.fontSize(.em(0.85)), .inlineBackground(.codeBackground)]
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
