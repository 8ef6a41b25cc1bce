import TestSupport
import Testing

@testable import NativeMark

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct `Styled text of a document` {
    private func pieces(_ text: StyledText) -> [String] {
        text.runs.map { String(text.string(of: $0)) }
    }

    @Test func `the text is one string with a run for each change of style`() {
        let text = StyledText(Document("Hello *world*, **again**!"))

        #expect(text.string == "Hello world, again!")
        #expect(pieces(text) == ["Hello ", "world", ", ", "again", "!"])
        #expect(text.runs.map(\.style.isItalic) == [false, true, false, false, false])
        #expect(text.runs.map(\.style.isBold) == [false, false, false, true, false])
    }

    @Test func `a soft break is a space within a run, and a hard break is a separate run`() {
        let text = StyledText(Document("one\ntwo\\\nthree"))

        #expect(pieces(text) == ["one two", "\u{2028}", "three"])
        #expect(text.runs.map(\.isLineBreak) == [false, true, false])
    }

    @Test func `blocks have a line feed between them and cells a tab, which belong to no run`() {
        let text = StyledText(Document("# a\n\nb\n\n- c\n- d\n\n| e | f |\n|---|---|\n| g | h |"))

        #expect(text.string == "a\nb\nc\nd\ne\tf\ng\th")
        #expect(pieces(text) == ["a", "b", "c", "d", "e", "f", "g", "h"])
    }

    @Test func `a block knows its text, its parent and where it ends`() {
        let text = StyledText(Document("> a\n>\n> b\n\nc"))

        #expect(text.blocks.map(\.kind) == [.document, .blockQuote(depth: 1), .paragraph, .paragraph, .paragraph])
        #expect(text.blocks.map(\.parent) == [nil, 0, 1, 1, 0])
        #expect(text.blocks.map(\.end) == [5, 4, 3, 4, 5])
        #expect(text.blocks.map { String(text.string(of: $0)) } == ["a\nb\nc", "a\nb", "a", "b", "c"])
    }

    @Test func `a run knows all blocks around it`() {
        let text = StyledText(Document("> - one\n>   1. two\n>      > three"))
        func path(_ index: Int) -> [StyledText.Kind] { text.path(of: text.runs[index]).map(\.kind) }
        let list = StyledText.Kind.list(.init(isOrdered: false, depth: 1, isTight: true))
        let item = StyledText.Kind.item(.init(number: nil, marker: "•", task: nil))
        let numbers: [StyledText.Kind] = [
            .document, .blockQuote(depth: 1), list, item, .list(.init(isOrdered: true, depth: 2, isTight: true)),
            .item(.init(number: 1, marker: "1.", task: nil)),
        ]

        #expect(pieces(text) == ["one", "two", "three"])
        #expect(path(0) == [.document, .blockQuote(depth: 1), list, item, .paragraph])
        #expect(path(1) == numbers + [.paragraph])
        #expect(path(2) == numbers + [.blockQuote(depth: 2), .paragraph])
    }

    @Test func `a cell knows its row, column and alignment`() {
        let text = StyledText(Document("| a | b |\n|:-:|--:|\n| c | d |"))

        #expect(
            text.blocks.map(\.kind) == [
                .document, .table(alignments: [.center, .trailing]), .tableRow(0),
                .tableCell(row: 0, column: 0, alignment: .center), .tableCell(row: 0, column: 1, alignment: .trailing),
                .tableRow(1), .tableCell(row: 1, column: 0, alignment: .center),
                .tableCell(row: 1, column: 1, alignment: .trailing),
            ])
        #expect(text.runs.map(\.style.isBold) == [true, true, false, false])
    }

    @Test func `links have their destination, and inner rules win inside them`() {
        let text = StyledText(Document("[a `b`](https://example.com \"t\") [c](/d)"))

        #expect(
            text.links == [.init(destination: "https://example.com", title: "t"), .init(destination: "/d", title: nil)])
        #expect(pieces(text) == ["a ", "b", " ", "c"])
        #expect(text.runs.map(\.link) == [0, 0, nil, 1])
        #expect(text.runs[1].style.fontDesign == .monospaced && text.runs[1].style.isUnderlined)
        #expect(text.runs[1].style.color != text.runs[0].style.color)
    }

    @Test func `adjacent links stay separate, and text after them belongs to no link`() {
        let text = StyledText(Document("[a](b)[c](d)e"), style: StyleSheet())

        #expect(pieces(text) == ["a", "c", "e"])
        #expect(text.runs.map(\.link) == [0, 1, nil])
    }

    @Test func `an image is its alternative text without markup, or a placeholder`() {
        let text = StyledText(Document("![a *b* ![c](d)](e \"f\") ![](g)"))

        #expect(pieces(text) == ["a b c", " ", "\u{FFFC}"])
        #expect(
            text.images == [
                .init(source: "e", title: "f", alternativeText: "a b c"),
                .init(source: "g", title: nil, alternativeText: ""),
            ])
        #expect(text.runs.map(\.image) == [0, nil, 1])
    }

    @Test func `footnotes are at the end, with the numbers of their references`() {
        let text = StyledText(Document("a[^x] b[^y]\n\n[^y]: two\n[^x]: one"))

        #expect(text.string == "a1 b2\none\ntwo")
        #expect(text.runs.map(\.footnote) == [nil, 1, nil, 2, nil, nil])
        #expect(
            text.path(of: text.runs[4]).map(\.kind) == [
                .document, .footnotes, .footnote(label: "x", number: 1), .paragraph,
            ])
    }

    @Test func `code keeps its lines, and its tokens have styles`() {
        let rules: [StyleSheet.InlineSelector: [StyleSheet.InlineStyle]] = [
            .token(.keyword): [.bold(true)], .token(.string): [.italic(true)], .token(.type): [.underline(true)],
        ]
        let text = StyledText(
            Document("```swift x\nlet é = 1\nif\n```"), style: .default.setting(inline: rules),
            highlighter: FixedHighlighter(tokens: [
                .init(0..<3, .keyword), .init(2..<100, .string), .init(-5..<1, .type), .init(200..<300, .keyword),
            ]))

        #expect(pieces(text) == ["l", "et", " é = 1\nif"])
        #expect(text.runs.map(\.style.isUnderlined) == [true, false, false])
        #expect(text.runs.map(\.style.isItalic) == [false, false, true])
        #expect(text.runs.allSatisfy { $0.style.fontDesign == .monospaced })
        #expect(text.blocks[1].kind == .codeBlock(language: "swift"))
    }

    @Test func `a highlighter gets the code as it is shown, and its language`() {
        struct Recorder: CodeHighlighter {
            func tokens(in code: String, language: String) -> [CodeToken] {
                #expect(code == "let é = 1\nif")
                #expect(language == "swift")
                return []
            }
        }
        for info in ["swift x", "language-swift", "language-swift x"] {
            let text = StyledText(Document("```\(info)\nlet é = 1\nif\n```"), highlighter: Recorder())
            #expect(pieces(text) == ["let é = 1\nif"])
        }
    }

    @Test func `an em in a token's styles is the size of the token's text, whatever the order of the styles`() {
        let styles: [StyleSheet.InlineStyle] = [.kerning(.em(1)), .textStyle(.title1), .baseline(.em(-1))]
        let text = StyledText(
            Document("    a"), style: .default.setting(inline: [.token(.key): styles]),
            highlighter: FixedHighlighter(tokens: [.init(0..<1, .key)]))

        #expect(text.runs.map(\.style.kerning) == [28])
        #expect(text.runs.map(\.style.baseline) == [-28])
    }

    @Test func `a token that starts within a scalar starts with it`() {
        let text = StyledText(
            Document("    aéb"), style: .default.setting(inline: [.token(.key): [.bold(true)]]),
            highlighter: FixedHighlighter(tokens: [.init(2..<3, .key)]))

        #expect(pieces(text) == ["a", "é", "b"])
        #expect(text.runs.map(\.style.isBold) == [false, true, false])
    }

    @Test func `items of a tight list have no space between them, and other items do`() {
        func spacing(_ markdown: String) -> [Double] {
            StyledText(Document(markdown)).blocks.filter { $0.kind == .paragraph }.map(\.style.spacingAfter)
        }
        #expect(spacing("- a\n- b") == [0, 0])
        #expect(spacing("- a\n\n- b") == [17, 17])
        #expect(spacing("- > a\n- b") == [17, 0])

        let around = StyleSheet().setting(block: [.paragraph: [.spacingBefore(.em(1)), .spacingAfter(.em(1))]])
        let blocks = StyledText(Document("- a\n  - b"), style: around).blocks
        #expect(blocks.allSatisfy { $0.style.spacingBefore == 0 && $0.style.spacingAfter == 0 })
    }

    @Test func `appearance and size category change colors and sizes`() {
        let document = Document("# a\n\n[b](c)")
        let small = StyledText(document, environment: .init(appearance: .light, sizeCategory: .xSmall))
        let large = StyledText(document, environment: .init(appearance: .dark, sizeCategory: .accessibility5))

        #expect(small.runs.map(\.style.fontSize) == [25, 14])
        #expect(large.runs.map(\.style.fontSize) == [58, 53])
        #expect(small.runs[1].style.color == .rgb(0x005FCC))
        #expect(large.runs[1].style.color == .rgb(0x6CB6FF))
        #expect(large.blocks[1].style.spacingBefore == 58)
    }

    @Test func `the same document, style and environment give the same text`() {
        let document = Document("# a\n\n- *b* [c](d)")
        let one = StyledText(document)

        #expect(one == StyledText(document))
        #expect(one.hashValue == StyledText(document).hashValue)
        #expect(one != StyledText(document, environment: .init(appearance: .dark)))
        #expect(one != StyledText(document, style: .default.setting(inline: [.emphasis: [.bold(true)]])))
    }

    @Test func `an empty document is an empty text`() {
        let text = StyledText(Document(""))
        #expect(text.string.isEmpty && text.runs.isEmpty)
        #expect(text.blocks.map(\.kind) == [.document])
    }
}

@Suite struct `Markers of items` {
    private func markers(_ markdown: String, _ style: StyleSheet = .default) -> [String] {
        StyledText(Document(markdown), style: style).blocks.compactMap {
            if case .item(let item) = $0.kind { item.marker } else { nil }
        }
    }

    @Test func `numbers continue from the first, with the document's delimiter`() {
        #expect(markers("9) a\n9) b\n1) c") == ["9)", "10)", "11)"])
        #expect(markers("0. a\n1. b") == ["0.", "1."])
    }

    @Test func `bullets depend on the depth, without counting numbered lists in between`() {
        #expect(markers("- a\n  - b\n    - c\n      - d") == ["•", "◦", "▪", "•"])
        #expect(markers("- a\n  1. b\n     - c") == ["•", "1.", "◦"])
    }

    @Test func `number formats depend on the depth`() {
        let style = StyleSheet.default.setting(block: [
            .list(.ordered): [.marker(.numbers([.uppercaseRoman, .lowercaseLetters]))]
        ])
        #expect(markers("4. a\n   1) b\n      1. c\n      2. d", style) == ["IV.", "a)", "I.", "II."])
    }

    @Test func `tasks have boxes, after a number if there is one`() {
        #expect(markers("- [ ] a\n- [x] b\n- c") == ["☐", "☑", "•"])
        #expect(markers("1. [x] a") == ["1. ☑"])
    }

    @Test func `a sheet can choose other bullets or none`() {
        #expect(markers("- a", .default.setting(block: [.list(.bullets): [.marker(.bullets(["→"]))]])) == ["→"])
        #expect(markers("- a\n- b", .default.setting(block: [.lists: [.marker(.none)]])) == ["•", "•"])
        #expect(markers("- a", .default.setting(block: [.list(.bullets): [.marker(.none)]])) == [""])
        let long = String(repeating: "e\u{301}", count: 1_000)
        #expect(
            markers("- a", .default.setting(block: [.list(.bullets): [.marker(.bullets([.text(long)]))]]))
                == [String(repeating: "e\u{301}", count: 32)])
        #expect(markers("- a\n\n1. b", StyleSheet()) == ["•", "1."])
    }
}

@Suite struct `Links that may be opened` {
    @Test(arguments: [
        ("https://example.com/a?b#c", true), ("HTTP://EXAMPLE.COM", true), ("mailto:a@b.c", true),
        ("settings:audio", false), ("tel:112", false), ("javascript:alert(1)", false), ("", false), ("a/b", false),
        ("//example.com", false), (" https://example.com", false), ("https", false), (":", false),
    ])
    func `a link has a URL only if its scheme is one that an app opens`(_ destination: String, _ isOpen: Bool) {
        let link = StyledText.Link(destination: destination, title: nil)
        #expect((link.url() != nil) == isOpen)
    }

    @Test func `an app can choose other schemes`() {
        let link = StyledText.Link(destination: "Settings:audio", title: nil)
        #expect(link.url(schemes: ["settings"]).map { "\($0)" } == "Settings:audio")
        #expect(link.url(schemes: []) == nil)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Images that come one by one` {
    private let text = StyledText(Document("![](a) ![](b) ![](a) ![](c) ![](d) ![](e)"))

    @Test func `each image is loaded once and shown in all its places`() async {
        let loaded = Guarded<[String]>([])
        var shown: [Int: String] = [:]
        await text.loadImages { image in
            loaded.withLock { $0.append(image.source) }
            return image.source == "c" ? nil : image.source.uppercased()
        } show: { index, image in
            #expect(shown[index] == nil)
            shown[index] = image
        }
        #expect(loaded.withLock { $0.sorted() } == ["a", "b", "c", "d", "e"])
        #expect(shown == [0: "A", 1: "B", 2: "A", 4: "D", 5: "E"])
    }

    @Test func `a slow image doesn't delay the others`() async {
        let gate = Gate()
        var shown: [Int] = []
        await text.loadImages { image in
            if image.source == "a" { await gate.pass() }
            return image.source
        } show: { index, _ in
            shown.append(index)
            // The last of the others opens the gate.
            if shown.count == 4 { Task { await gate.open() } }
        }
        #expect(Set(shown.prefix(4)) == [1, 3, 4, 5])
        #expect(shown.suffix(2) == [0, 2])
    }

    @Test func `only a limited number of images is loaded concurrently`() async {
        let gates = (0..<5).map { _ in Gate() }
        let begun = Guarded(0)
        let executor = ManualExecutor()
        let text = text
        let loading = executor.spawn {
            await text.loadImages(concurrency: 2) { image in
                let number = begun.withLock { count in
                    defer { count += 1 }
                    return count
                }
                await gates[number].pass()
                return image.source
            } show: { _, _ in
            }
        }
        for ended in 0...5 {
            // All tasks wait now: for a gate, or for each other.
            executor.runUntilIdle()
            #expect(begun.withLock { $0 } == min(ended + 2, 5))
            if ended < 5 { await gates[ended].open() }
        }
        await loading.value
    }

    @Test func `after a cancellation, no more images are loaded and none is shown`() async {
        let gate = Gate()
        let started = Guarded(0)
        let text = text
        let task = Task {
            var shown = 0
            await text.loadImages(concurrency: 2) { image in
                started.withLock { $0 += 1 }
                await gate.pass()
                return image.source
            } show: { _, _ in
                shown += 1
            }
            return shown
        }
        await gate.arrivals(2)
        task.cancel()
        await gate.open()
        #expect(await task.value == 0)
        #expect(started.withLock { $0 } == 2)
    }
}

/// Work that recursed over a document wouldn't fit on a stack of this size.
@Suite struct `Styled text on a stack of 512 KiB` {
    @Test(arguments: [
        ("quotes", String(repeating: ">", count: 1_000_000)),
        ("lists", String(repeating: "- ", count: 100_000) + "a"),
        ("emphasis", String(repeating: "*a ", count: 50_000) + String(repeating: "b*", count: 50_000)),
        ("brackets", String(repeating: "![a", count: 50_000) + String(repeating: "](b)", count: 50_000)),
        ("items in items", (0..<100).map { String(repeating: "  ", count: $0) + "- x" }.joined(separator: "\n")),
        ("empty items", String(repeating: "-\n", count: 20_000) + "\na\n\nb\n\nc"),
    ])
    func `a document of any depth is styled, compared, shown and destroyed`(_ what: String, _ markdown: String) async {
        let isDone = await onSmallStack {
            let document = Document(markdown)
            let text = StyledText(document)
            let isSame = text == StyledText(document) && text.hashValue == StyledText(document).hashValue
            let output = TerminalRenderer(width: 80, color: .full, hyperlinks: true).render(text)
            let plain = PlainText(text).string
            let attributed = AttributedString(text)
            return isSame && !output.isEmpty && !plain.isEmpty && attributed.characters.count == text.string.count
        }
        #expect(isDone)
    }
}

@Suite struct `Attributed strings of styled text` {
    @Test func `an attributed string has the characters of the text and the styles of its runs`() {
        let text = StyledText(Document("# Ä *日本*\n\n- 👨‍👩‍👧 [x](y \"z\") ![i](s)[^1]\n\n[^1]: note"))
        let attributed = AttributedString(text)

        #expect(String(attributed.characters) == text.string)
        for run in text.runs {
            let piece = String(text.string(of: run))
            let found = attributed.runs.first {
                String(attributed[$0.range].characters) == piece
                    && $0[NativeMarkAttributes.Blocks.self]?.number == run.block
            }
            #expect(found?[NativeMarkAttributes.TextStyle.self] == run.style, "\(piece)")
            #expect(found?[NativeMarkAttributes.Blocks.self]?.blocks == text.path(of: run), "\(piece)")
            #expect(found?[NativeMarkAttributes.Link.self] == run.link.map { text.links[$0] }, "\(piece)")
            #expect(found?[NativeMarkAttributes.Image.self] == run.image.map { text.images[$0] }, "\(piece)")
            #expect(found?[NativeMarkAttributes.Footnote.self] == run.footnote, "\(piece)")
        }
    }

    @Test func `two paragraphs that look the same stay separate`() {
        let attributed = AttributedString(StyledText(Document("a\n\nb")))
        let numbers = attributed.runs.compactMap { $0[NativeMarkAttributes.Blocks.self]?.number }
        #expect(numbers == [1, 2])
    }

    @Test func `cells of a deeply nested table share the blocks around them`() throws {
        let depth = String(repeating: ">", count: 90)
        let attributed = AttributedString(StyledText(Document("\(depth)|a|b|\n\(depth)|-|-|")))
        let paths = attributed.runs.compactMap { $0[NativeMarkAttributes.Blocks.self] }
        let addresses = paths.map { $0.all.withUnsafeBufferPointer(\.baseAddress) }
        #expect(paths.map(\.blocks.count) == [94, 94])
        #expect(addresses.count == 2 && addresses[0] == addresses[1])
        #expect(paths[0] != paths[1])
    }

    @Test func `paths of equal texts are equal`() throws {
        func paths(_ markdown: String) -> [StyledText.Path] {
            AttributedString(StyledText(Document(markdown))).runs.compactMap { $0[NativeMarkAttributes.Blocks.self] }
        }
        #expect(paths("> a\n\n- b") == paths("> a\n\n- b"))
        #expect(Set(paths("> a\n\n- b") + paths("> a\n\n- b")).count == 2)
        #expect(paths("> a") != paths("- a"))
    }

    @Test func `an empty document is an empty string`() {
        #expect(AttributedString(StyledText(Document(""))).characters.isEmpty)
    }
}

@Suite struct `Traits of runs compared with their blocks` {
    private func traits(_ markdown: String, _ sheet: StyleSheet = .default) -> [StyledText.Traits] {
        let text = StyledText(Document(markdown), style: sheet)
        return text.runs.map { text.traits(of: $0) }
    }

    @Test func `traits follow the markup`() {
        #expect(traits("a*b*`c`~~d~~***e***") == [[], .emphasis, .code, .strikethrough, [.emphasis, .strong]])
        #expect(traits("a\\\nb") == [[], .lineBreak, []])
    }

    @Test func `the traits of the whole block are left out`() {
        let sheet = StyleSheet.default.setting(block: [.headings: [.fontWeight(.black)]])
        #expect(traits("# a **b** *c*", sheet) == [[], .emphasis])
        #expect(traits("# a **b**") == [[], .strong])
        #expect(traits("```\na\n```") == [[]])
    }
}
