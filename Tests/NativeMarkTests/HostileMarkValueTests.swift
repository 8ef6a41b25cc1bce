import Foundation
import NativeMark
import TestSupport
import Testing

@Suite struct `Hostile values for NativeMark` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-hostile-mark-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for NativeMark`.calls, rounds: 60, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test(arguments: traps.indices)
    func `a programming error traps`(index: Int) async {
        await #expect(processExitsWith: .failure, "\(Self.traps[index].reason)") { [index] in
            `Hostile values for NativeMark`.traps[index].body()
        }
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("NativeMark", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    /// The documented preconditions.
    static let traps: [(reason: String, body: @Sendable () -> Void)] = [
        ("a replaced range is within the source", { _ = Document("ab").replacing(0..<3, with: "") }),
        ("a replaced range separates no scalar", { _ = Document("aé").replacing(2..<3, with: "") }),
        ("a replaced range is within the source in UTF-16", { _ = Document("ab").replacing(utf16: 0..<3, with: "") }),
        (
            "a stream gets no text after its end",
            {
                var stream = DocumentStream(); stream.finish(); stream.append("a")
            }
        ),
        (
            "a stream has the requested block",
            {
                var stream = DocumentStream(); _ = stream.block(at: 0)
            }
        ),
        ("a text has the requested block", { _ = StyledText(Document("a")).path(ofBlock: 9) }),
        ("a heading has a level from 1 to 6", { _ = StyleSheet().setting(block: [.heading(level: 7): []]) }),
        ("a list has a level from 1 to 9", { _ = StyleSheet().setting(block: [.list(level: 10): []]) }),
    ]

    static let calls: [HostileCall] = [
        HostileCall("Document.init(_:options:)") { _ = document(&$0).root.plainText },
        HostileCall("Document.init(localized:in:languages:arguments:options:)") { values in
            let catalog = try StringCatalog(json: #"{"sourceLanguage":"en","strings":{"a":{}},"version":"1.0"}"#)
            _ = Document(
                localized: values.one(of: ["%@ %2$lld %999999999999999999999$@ `%@` [a](%@)", values.text()]),
                in: catalog,
                languages: [values.text()], arguments: [values.text(), values.int(), UInt64.max])
        },
        HostileCall("Document.escaped(_:)") { _ = Document(Document.escaped($0.text())).root.plainText },
        HostileCall("Document.replacing(_:with:)") { values in
            let document = document(&values)
            let end = document.source.utf8.count
            _ = document.replacing(0..<end, with: values.text()).replacing(0..<0, with: values.text()).changes(
                since: document)
        },
        HostileCall("Document.replacing(utf16:with:)") { values in
            let document = document(&values)
            let end = document.source.utf16.count
            _ = document.replacing(utf16: 0..<end, with: values.text()).replacing(utf16: 0..<0, with: values.text())
        },
        HostileCall("Document.List.init(start:marker:isTight:)") { values in
            _ = Document.List(start: values.int(), marker: "\u{301}", isTight: true)
        },
        HostileCall("DocumentStream.append(_:)") { values in
            var stream = DocumentStream()
            for _ in 0..<4 { stream.append(values.text()) }
            stream.finish()
            _ = stream.blocks
        },
        HostileCall("DocumentStream.block(at:)") { values in
            var stream = DocumentStream()
            stream.append(values.text())
            if stream.count > 0 { _ = stream.block(at: min(max(values.int(), 0), stream.count - 1)) }
        },
        HostileCall("CodeHighlighter.tokens(in:language:)") { values in
            let highlighter: any CodeHighlighter = Wild(ranges: [values.range(), values.range(), values.range()])
            let document = Document("```swift\n\(values.text())\n```\n")
            let text = StyledText(document, highlighter: highlighter)
            for run in text.runs { _ = (text.string(of: run), text.path(of: run)) }
            for block in text.blocks { _ = text.string(of: block) }
            _ = HTMLRenderer().render(document, highlighter: highlighter)
        },
        HostileCall("CodeToken.init(_:_:)") { _ = CodeToken($0.range(), .keyword) },
        HostileCall("LanguageHighlighter.tokens(in:language:)") { values in
            let language = values.one(of: ["swift", "c", "python", "html", "json", "bash", values.text()])
            _ = LanguageHighlighter().tokens(in: values.text(), language: language)
        },
        HostileCall("DocumentLayout.init(_:style:environment:highlighter:width:engine:imageSize:)") {
            _ = layOut(&$0).height
        },
        HostileCall("DocumentLayout.section(at:)") { values in _ = layOut(&values).section(at: values.int()) },
        HostileCall("DocumentLayout.sections(from:height:)") { values in
            var layout = layOut(&values)
            _ = layout.sections(from: values.int(), height: values.double())
            _ = layout.sections(from: 0, height: values.double())
        },
        HostileCall("LayoutCorners.init(rawValue:)") { values in
            _ = [VectorShape.Element].rectangle(box(&values), radius: 3, corners: .init(rawValue: values.int()))
        },
        HostileCall("LayoutPoint.init(x:y:)") { values in
            let layout = TextLayout(StyledText(document(&values)), width: 100, engine: MonospacedEngine())
            let point = LayoutPoint(x: values.double(), y: values.double())
            _ = (layout.link(at: point), layout.characterIndex(at: point))
        },
        HostileCall("LayoutRectangle.init(x:y:width:height:)") { values in
            let commands: [DrawingCommand] = [
                .fill(box(&values), radius: values.double(), .standard),
                .checkbox(box(&values), isChecked: true, .standard),
            ]
            guard
                var page = LayoutPages(
                    .init(Document("a")), size: .init(width: 9, height: 9), engine: MonospacedEngine()
                )
                .first(where: { _ in true })
            else { return }
            (page.top, page.bottom) = (values.double(), values.double())
            for command in commands { _ = (command.shapes, page.cuts(command)) }
        },
        HostileCall("LayoutSections.init(_:width:engine:imageSize:)") { values in
            let (width, height) = (values.double(), values.double())
            let text = StyledText(document(&values), style: sheet(&values))
            for _ in LayoutSections(
                text, width: values.double(), engine: WildEngine(number: values.double()),
                imageSize: { _ in .init(width: width, height: height) })
            {}
        },
        HostileCall("LayoutSize.init(width:height:)") { values in
            let text = StyledText(document(&values), style: sheet(&values))
            let size = LayoutSize(width: values.double(), height: values.double())
            let pages = LayoutPages(text, size: size, engine: WildEngine(number: values.double()))
            for page in pages.prefix(100) { _ = page.commands.map(page.cuts) }
        },
        HostileCall("Array.rectangle(_:radius:corners:)") { values in
            _ = [VectorShape.Element].rectangle(box(&values), radius: values.double())
        },
        HostileCall("ResolvedTextStyle.decorations(from:width:)") { values in
            var style = ResolvedTextStyle(fontSize: values.double())
            style.baseline = values.double()
            style.underline = .init(pattern: values.one(of: StyleSheet.TextLine.Pattern.allCases))
            _ = style.decorations(from: .init(x: values.double(), y: values.double()), width: values.double())
        },
        HostileCall("TextEngineLine.offset(at:)") { values in
            let engine = WildEngine(number: values.double(), offset: values.int())
            let layout = TextLayout(StyledText(document(&values), style: .github), width: 100, engine: engine)
            let point = LayoutPoint(x: 3, y: 3)
            _ = (layout.link(at: point), layout.characterIndex(at: point), layout.rectangles(of: 0..<3))
        },
        HostileCall("TextLayout.init(_:width:engine:lineLimit:imageSize:)") { values in
            let (width, height) = (values.double(), values.double())
            let layout = TextLayout(
                StyledText(document(&values), style: sheet(&values)), width: values.double(),
                engine: WildEngine(number: values.double()), lineLimit: values.one(of: [nil, values.int()])
            ) { _ in .init(width: width, height: height) }
            for command in layout.commands { _ = command.shapes }
        },
        // What an engine returns.
        HostileCall("TextEngine.lines(of:width:firstIndent:)") { values in
            let engine = WildEngine(number: values.double())
            _ = TextLayout(StyledText(Document("- [ ] a `b`\n\n> c\n\n|d|\n|-|\n|e|")), width: 100, engine: engine)
        },
        HostileCall("TextEngineLine.spans(of:)") { values in
            let engine = WildEngine(number: values.double())
            let text = StyledText(Document("[a](b) `c`"), style: .github)
            let layout = TextLayout(text, width: 100, engine: engine)
            _ = (layout.rectangles(of: 0..<9), layout.commands.map(\.shapes))
        },
        HostileCall("TextParagraph.Placeholder.init(advance:ascent:)") { values in
            _ = TextParagraph.Placeholder(advance: values.double(), ascent: values.double()).hashValue
        },
        HostileCall("TextParagraph.Run.init(range:style:placeholder:)") { values in
            _ = TextParagraph.Run(range: values.range(), style: .init(fontSize: values.double())).hashValue
        },
        HostileCall("TextLayout.characters(from:to:)") { values in
            let layout = TextLayout(StyledText(document(&values)), width: 100, engine: MonospacedEngine())
            _ = layout.characters(from: values.int(), to: values.int())
        },
        HostileCall("TextLayout.rectangles(of:)") { values in
            let layout = TextLayout(
                StyledText(document(&values), style: .github), width: 100, engine: MonospacedEngine())
            _ = layout.rectangles(of: values.range())
        },
        HostileCall("HTMLRenderer.render(markdown:options:highlighter:)") { values in
            _ = HTMLRenderer(style: sheet(&values)).render(markdown: values.text())
        },
        HostileCall("HTMLRenderer.renderPage(_:title:language:highlighter:)") { values in
            let renderer = HTMLRenderer(style: sheet(&values))
            _ = renderer.renderPage(document(&values), title: values.text(), language: values.text())
        },
        HostileCall("PlainText.init(_:width:)") { _ = PlainText(document(&$0), width: $0.one(of: [nil, $0.int()])) },
        HostileCall("PlainText.init(_:width:imageSources:)") { values in
            _ = PlainText(
                StyledText(document(&values), style: sheet(&values), environment: environment(&values)),
                width: values.int())
        },
        HostileCall("PluralCategory.init(of:language:)") { values in
            for language in ["en", "pl", "ar", "fr", "ru", values.text()] {
                _ = PluralCategory(of: values.int(), language: language)
            }
        },
        HostileCall("ResolvedTextStyle.init(textStyle:fontSize:)") { _ = ResolvedTextStyle(fontSize: $0.double()) },
        HostileCall("StringCatalog.init(json:)") { values in
            let json = values.one(of: [
                values.text(), #"{"sourceLanguage":"","strings":{"":{"localizations":{"":{}}}}}"#,
            ])
            _ = try StringCatalog(json: json)
        },
        HostileCall("StringCatalog.string(_:languages:count:)") { values in
            let catalog = try StringCatalog(json: #"{"sourceLanguage":"en","strings":{"a":{}},"version":"1.0"}"#)
            _ = catalog.string(
                values.one(of: ["a", values.text()]), languages: [values.text(), values.text()], count: values.int())
        },
        HostileCall("StyleSheet.init(json:)") { values in
            let number = values.one(of: [
                "1e999", "-1e308", "99999999999999999999", "0.0000001", "\"\(values.int())em\"", "null",
            ])
            let json = values.one(of: [
                values.text(), #"{"blocks":{"heading1":{"spacingAfter":\#(number),"lineHeight":\#(number)}}}"#,
                #"{"blocks":{"heading\#(values.int())":{}}}"#, ##"{"colors":{"accent":"#\##(values.int())"}}"##,
            ])
            let sheet = try StyleSheet(json: json)
            _ = TerminalRenderer(width: 80).render(document(&values), style: sheet)
        },
        HostileCall("StyleSheet.BlockSelector.list(level:)") { values in
            let level = min(max(values.int(), 1), 9)
            let sheet = sheet(&values).setting(block: [.list(level: level): [.marker(.bullets([.disc]))]])
            _ = (HTMLRenderer(style: sheet).render(document(&values)), sheet.json)
        },
        HostileCall("StyleSheet.BlockStyle.fontFamily(_:)") { _ = sheet(&$0) },
        HostileCall("StyleSheet.Bullet.init(stringLiteral:)") { values in
            let bullet = StyleSheet.Bullet(stringLiteral: values.text())
            let sheet = StyleSheet().setting(block: [.lists: [.marker(.bullets([bullet]))]])
            _ = TerminalRenderer(width: values.int()).render(document(&values), style: sheet)
        },
        HostileCall("StyleSheet.Color.named(_:fallback:)") { _ = StyleSheet.Color.named($0.text()) },
        HostileCall("StyleSheet.Color.rgb(_:alpha:)") { values in
            _ = try JSONEncoder().encode(
                StyleSheet().setting(inline: [
                    .code: [.color(.rgb(.init(truncatingIfNeeded: values.int()), alpha: values.double()))]
                ]))
        },
        HostileCall("StyleSheet.Paint.named(_:fallback:)") {
            _ = StyleSheet.Paint.named($0.text(), fallback: .init(.standard))
        },
        HostileCall("StyleSheet.Tone.rgb(_:alpha:)") { values in
            let tone = StyleSheet.Tone.rgb(.max, alpha: values.double())
            let sheet = StyleSheet().setting(colors: [.accent: .init(tone)])
            _ = (
                HTMLRenderer(style: sheet).render(document(&values)),
                TerminalRenderer(width: 9, color: .ansi256).render(document(&values), style: sheet)
            )
        },
        HostileCall("StyleSheet.Environment.init(appearance:contrast:sizeCategory:platform:bodySize:)") { values in
            _ = StyledText(document(&values), environment: environment(&values))
        },
        HostileCall("StyleSheet.Length.points(atFontSize:)") { values in
            _ = StyleSheet.Length.em(values.double()).points(atFontSize: values.double())
        },
        HostileCall("StyleSheet.Numbering.text(of:)") { values in
            for numbering in StyleSheet.Numbering.allCases { _ = numbering.text(of: values.int()) }
        },
        HostileCall("StyledText.Image.init(source:title:alternativeText:)") { values in
            _ = StyledText.Image(source: values.text(), title: values.text(), alternativeText: values.text())
        },
        HostileCall("StyledText.Item.init(number:marker:task:)") {
            _ = StyledText.Item(number: $0.int(), marker: $0.text(), task: nil)
        },
        HostileCall("StyledText.Link.init(destination:title:)") { values in
            _ = StyledText.Link(destination: values.text(), title: values.text()).url(schemes: ["http", values.text()])
        },
        HostileCall("StyledText.Link.url(schemes:)") { values in
            _ = StyledText.Link(destination: values.text(), title: nil).url(schemes: ["", values.text()])
        },
        HostileCall("StyleSheet.init(from:)") { values in
            let sheet = try JSONDecoder().decode(
                StyleSheet.self,
                from: values.damagedJSON(of: StyleSheet.named[values.one(of: StyleSheet.named.keys.sorted())]!))
            _ = StyledText(document(&values), style: sheet)
        },
        HostileCall("StyledText.List.init(isOrdered:depth:isTight:)") { values in
            _ = StyledText.List(isOrdered: true, depth: values.int(), isTight: true)
        },
        HostileCall("StyledText.path(ofBlock:)") { values in
            let text = StyledText(document(&values))
            for index in text.blocks.indices { _ = text.path(ofBlock: index) }
        },
        HostileCall("TerminalRenderer.Color.detect(environment:isTerminal:)") {
            _ = TerminalRenderer.Color.detect(environment: variables(&$0), isTerminal: true)
        },
        HostileCall("TerminalRenderer.ImageProtocol.detect(environment:isTerminal:)") { values in
            _ = TerminalRenderer.ImageProtocol.detect(environment: variables(&values), isTerminal: true)
        },
        HostileCall("TerminalRenderer.supportsHyperlinks(environment:isTerminal:)") { values in
            _ = TerminalRenderer.supportsHyperlinks(environment: variables(&values), isTerminal: true)
        },
        HostileCall("TerminalRenderer.Image.init(bytes:columns:rows:columnsInLine:id:)") { values in
            let image = TerminalRenderer.Image(
                bytes: values.bytes(), columns: values.int(), rows: values.int(),
                columnsInLine: values.one(of: [nil, values.int()]), id: 7)
            for way in [TerminalRenderer.ImageProtocol.kitty, .iTerm2] {
                let renderer = TerminalRenderer(width: values.int(), images: way)
                let document = Document("![a](b)\n\na ![a](b) c\n\n|a|\n|-|\n|![a](b)|\n")
                _ = renderer.render(StyledText(document, style: sheet(&values))) { _ in
                    image
                }
            }
        },
        HostileCall("TerminalRenderer.init(width:color:hyperlinks:images:)") { values in
            let renderer = TerminalRenderer(width: values.int(), color: .full, hyperlinks: true)
            let text = StyledText(document(&values), style: sheet(&values), environment: environment(&values))
            _ = renderer.render(text)
        },
        HostileCall("TerminalText.padded(_:toWidth:alignment:)") { values in
            _ = TerminalText.padded(
                values.text(), toWidth: values.int(), alignment: values.one(of: [.leading, .center, .trailing]))
        },
        HostileCall("TerminalText.sanitized(_:)") { _ = TerminalText.sanitized($0.text()) },
        HostileCall("TerminalText.truncated(_:toWidth:at:)") { values in
            _ = TerminalText.truncated(values.text(), toWidth: values.int(), at: values.one(of: [.end, .middle]))
        },
        HostileCall("TerminalText.width(of:)") {
            _ = (TerminalText.width(of: $0.text()), TerminalText.width(of: $0.text()[...]))
        },
    ]

    private static func document(_ values: inout HostileValues) -> Document {
        let beginning = values.one(of: [
            "", "# ", "- ", "999999999. ", "> ", "```\n", "|a|b|\n|-|-|\n|", "[a]: ", "[^a]: x\n\n[^a]", "![",
            "&#99999999;", "---\n\n",
        ])
        return Document(beginning + values.text())
    }

    private static func sheet(_ values: inout HostileValues) -> StyleSheet {
        func length() -> StyleSheet.Length { values.one(of: [.points(values.double()), .em(values.double())]) }
        return StyleSheet.default.setting(block: [
            .paragraph: [
                .fontFamily(values.text()), .fontSize(length()), .kerning(length()), .baseline(length()),
                .spacingBefore(length()),
                .spacingAfter(length()), .leadingIndent(length()), .trailingIndent(length()),
                .firstLineIndent(length()),
                .padding(.all(length())), .border(.init(width: length())), .lineHeight(values.double()),
                .lineSpacing(length()),
                .imageLayout(.init(.maximum(width: length(), height: length()), cornerRadius: length())),
            ],
            .list(.bullets): [
                .marker(.bullets([.text(values.text())])),
                .taskMarker(.texts(open: values.text(), done: values.text())),
            ],
            .table: [.tableLines(.init(width: length()))], .firstBlock: [.spacingBefore(length())],
            .lastBlock: [.spacingAfter(length())],
            .thematicBreak: [
                .divider(
                    values.one(of: [
                        .ornament(values.text()),
                        .rule(
                            thickness: length(),
                            width: values.one(of: [.length(length()), .fraction(values.double())])),
                    ]))
            ],
        ])
    }

    /// An engine whose lines have sizes and offsets that have nothing to do with their text.
    private struct WildEngine: TextEngine {
        var number: Double
        var offset: Int?
        private let engine = MonospacedEngine()

        init(number: Double, offset: Int? = nil) { (self.number, self.offset) = (number, offset) }

        func lines(of paragraph: TextParagraph, width: Double, firstIndent: Double) -> [any TextEngineLine] {
            engine.lines(of: paragraph, width: .infinity, firstIndent: 0).map {
                Line(line: $0, number: number, offset: offset)
            }
        }

        func width(of paragraph: TextParagraph) -> Double { -number }

        func minimumWidth(of paragraph: TextParagraph) -> Double { number }

        func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double) { (number, -number) }

        private struct Line: TextEngineLine {
            var line: any TextEngineLine
            var number: Double
            var offset: Int?
            var range: Range<Int> { line.range }
            var width: Double { number }
            var ascent: Double { number }
            var descent: Double { number }

            func spans(of range: Range<Int>) -> [Range<Double>] {
                number.isNaN ? [] : [min(0, number)..<max(0, number)]
            }

            func offset(at x: Double) -> Int { offset ?? line.offset(at: x) }
        }
    }

    private static func layOut(_ values: inout HostileValues) -> DocumentLayout {
        DocumentLayout(
            document(&values), style: sheet(&values), environment: environment(&values), width: values.double(),
            engine: MonospacedEngine())
    }

    private static func box(_ values: inout HostileValues) -> LayoutRectangle {
        .init(x: values.double(), y: values.double(), width: values.double(), height: values.double())
    }

    private static func environment(_ values: inout HostileValues) -> StyleSheet.Environment {
        StyleSheet.Environment(bodySize: values.one(of: [nil, values.double()]))
    }

    private static func variables(_ values: inout HostileValues) -> [String: String] {
        let names = [
            "TERM", "COLORTERM", "NO_COLOR", "VTE_VERSION", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "KONSOLE_VERSION",
            "TMUX",
        ]
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, values.one(of: ["xterm", "iTerm.app", values.text()])) })
    }

    /// A highlighter whose ranges have nothing to do with the code.
    private struct Wild: CodeHighlighter {
        var ranges: [Range<Int>]
        func tokens(in code: String, language: String) -> [CodeToken] { ranges.map { CodeToken($0, .keyword) } }
    }
}
