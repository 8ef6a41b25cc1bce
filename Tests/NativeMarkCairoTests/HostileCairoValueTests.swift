#if Cairo
import Foundation
import NativeMark
import NativeMarkCairo
import TestSupport
import Testing

@Suite struct `Hostile values for NativeMarkCairo` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-hostile-cairo-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for NativeMarkCairo`.calls, rounds: 60, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("NativeMarkCairo", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    static let calls: [HostileCall] = [
        HostileCall("CairoDrawing.png(width:margin:scale:)") { values in
            _ = try drawing(&values).png(
                width: values.double(), margin: values.one(of: [0, values.double()]),
                scale: values.one(of: [1, values.double()]))
        },
        HostileCall("CairoDrawing.svg(width:margin:)") { values in
            _ = try drawing(&values).svg(width: values.double(), margin: values.one(of: [0, values.double()]))
        },
        HostileCall("CairoImage.init(png:)") { values in
            let header: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            _ = try CairoImage(png: values.one(of: [[], header, TestImage.png(4, 4)]) + values.bytes())
        },
        HostileCall("CairoPage.png(scale:)") { values in
            for page in try drawing(&values).pages().prefix(1) { _ = try page.png(scale: values.double()) }
        },
        HostileCall("PageSetup.Paper.init(_:)") { values in
            let text = values.one(of: [values.text(), "\(values.double())x\(values.double())mm", "x", "1x2x3cm"])
            guard let paper = PageSetup.Paper(text) else { return }
            _ = try drawing(&values).pdf(.init(paper: paper))
        },
        HostileCall("PageSetup.Paper.init(width:height:)") { values in
            let paper = PageSetup.Paper(width: values.double(), height: values.double())
            _ = try drawing(&values).pdf(.init(paper: paper.landscape))
        },
        HostileCall("PageSetup.init(paper:margin:scale:hasPageNumbers:)") { values in
            let setup = PageSetup(margin: values.double(), scale: values.one(of: [1, values.double()]))
            for page in try drawing(&values).pages(setup).prefix(3) { _ = page.svg() }
        },
        HostileCall("PageSetup.points(_:)") { values in _ = PageSetup.points(values.text() + "mm") },
        HostileCall("PangoEngine.Fonts.init(default:serif:monospaced:files:)") { values in
            let fonts = PangoEngine.Fonts(default: values.text(), files: values.one(of: [[], [values.text()]]))
            let engine = try PangoEngine(fonts: fonts)
            _ = (engine.width(of: paragraph(&values)), engine.minimumWidth(of: paragraph(&values)))
        },
        HostileCall("PangoEngine.init(fonts:language:)") { values in
            let engine = try PangoEngine(fonts: .init(), language: values.text())
            _ = engine.lines(of: paragraph(&values), width: 100, firstIndent: 0)
        },
        HostileCall("PangoEngine.lines(of:width:firstIndent:)") { values in
            let lines = PangoEngine().lines(
                of: paragraph(&values), width: values.double(), firstIndent: values.double())
            for line in lines.prefix(5) { _ = (line.spans(of: values.range()), line.offset(at: values.double())) }
        },
    ]

    private static func drawing(_ values: inout HostileValues) -> CairoDrawing {
        let text = values.one(of: ["# ", "- ", "> ", "|a|\n|-|\n|", "`"]) + values.text().prefix(2_000)
        var drawing = CairoDrawing(StyledText(Document(text), style: .github))
        drawing.title = values.text()
        drawing.author = values.text()
        return drawing
    }

    /// A paragraph whose styles and ranges have nothing to do with its text.
    private static func paragraph(_ values: inout HostileValues) -> TextParagraph {
        var paragraph = TextParagraph()
        paragraph.text = String(values.text().prefix(5_000))
        paragraph.isRightToLeft = values.one(of: [true, false])
        var style = ResolvedTextStyle(fontSize: values.one(of: [12, values.double()]))
        style.kerning = values.double()
        style.baseline = values.double()
        style.fontFamily = values.text()
        paragraph.runs = [
            .init(range: values.range(), style: style),
            .init(
                range: values.range(), style: style,
                placeholder: .init(advance: values.double(), ascent: values.double())),
        ]
        return paragraph
    }
}
#endif
