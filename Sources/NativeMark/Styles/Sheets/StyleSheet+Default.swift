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
            .table: [.border(Border()), .spacingAfter(.em(1))],
            .tableHeader: [.fontWeight(.bold)],
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
