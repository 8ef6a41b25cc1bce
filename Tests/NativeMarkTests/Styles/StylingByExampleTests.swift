import Foundation
import NativeMark
import Testing

/// The article of the documentation. Its images are drawn from its JSON, and the Swift samples must say the same.
@Suite struct `Styling by example` {
    /// The sheets of the article, in Swift.
    static let steps: [StyleSheet] = [
        .default.setting(inline: [
            .emphasis: [.italic(false), .color(.accent), .underline(true)],
            .strong: [.color(.ansi(.red))],
        ]),
        .default.setting(block: [
            .heading(level: 1): [.alignment(.center), .border(.init(edges: [.bottom]))],
            .document: [.leadingIndent(.em(1)), .trailingIndent(.em(1))],
            .blockQuote: [
                .border(.init(edges: [.leading], color: .accent)), .background(.codeBackground),
                .color(.primary), .italic(true),
            ],
        ]),
        .default.setting(block: [
            .list(.ordered): [.marker(.numbers([.uppercaseRoman, .lowercaseLetters])), .leadingIndent(.em(1))],
            .table: [.border(.init(edges: [.top, .bottom]))],
            .tableHeader: [.color(.secondary), .bold(false), .italic(true)],
        ]),
        .default.setting(colors: [
            .accent: .init(light: .rgb(0x1B7F4B), dark: .rgb(0x7FE0A8)),
            .link: .init(light: .rgb(0x7A3FB0), dark: .rgb(0xD3A8FF)),
            .codeBackground: .init(light: .rgb(0xE4F3EA), dark: .rgb(0x16382A)),
        ]),
    ]

    private func article() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return try String(
            contentsOf: root.appending(path: "Sources/NativeMark/NativeMark.docc/StylingByExample.md"),
            encoding: .utf8)
    }

    /// What stands in the code blocks of a language.
    private func blocks(_ language: String) throws -> [String] {
        Document(try article()).nodes { if case .codeBlock(language, _) = $0.kind { true } else { false } }
            .map(\.plainText)
    }

    @Test func `each sheet in JSON is the one in Swift before it`() throws {
        #expect(try blocks("json").map { try StyleSheet(json: $0) } == Self.steps)
    }

    @Test func `the sheets in Swift are those of this test`() throws {
        func words(_ text: String) -> String { text.filter { !$0.isWhitespace && $0 != "," } }
        let own = words(try String(contentsOfFile: #filePath, encoding: .utf8))
        let samples = try blocks("swift").filter { $0.contains("let sheet = StyleSheet.default") }
        #expect(samples.count == Self.steps.count)
        for sample in samples {
            let sheet = sample.split(separator: "\n])")[0].dropFirst("let sheet = StyleSheet".count)
            #expect(own.contains(words(String(sheet))), "\(sheet)")
        }
    }

    @Test func `the comments of its samples say what is printed`() throws {
        let error = #expect(throws: NativeMarkError.self) {
            try StyleSheet(json: #"{"blocks": {"heading1": {"colour": "accent"}}}"#)
        }
        let said = "\(try #require(error))".split(separator: ".").prefix(3).joined(separator: ".")
        #expect(try article().contains("// \(said). …"))

        let large = StyledText(Document("# Tea"), environment: .init(sizeCategory: .accessibility3))
        #expect(try article().contains("// \(large.runs[0].style.fontSize) \(large.blocks[1].style.spacingAfter)"))
    }
}
