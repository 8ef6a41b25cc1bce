import NativeMark
import Testing

@Suite struct `Sheets of the library` {
    @Test(arguments: StyleSheet.named.keys.sorted())
    func `can be named as a base, and read as they are written`(_ name: String) throws {
        let sheet = try #require(StyleSheet.named[name])
        #expect(try StyleSheet(json: #"{"base": "\#(name)"}"#) == sheet)
        #expect(try StyleSheet(json: sheet.json) == sheet)
    }

    /// WCAG 2.2 asks for 4.5 (AA). Some color schemes have less by design; they must have the 3 that it asks for large text.
    @Test(arguments: StyleSheet.named.keys.sorted())
    func `have text that can be read on the background of its appearance`(_ name: String) throws {
        let sheet = try #require(StyleSheet.named[name])
        let tokens = CodeToken.Kind.allCases.enumerated().map { CodeToken(2 + $0..<3 + $0, $1) }
        for appearance in StyleSheet.Appearance.allCases {
            let text = StyledText(
                Document("# a\n\nb *c* **d** [e](f) `g`\n\n    h\n    0123456789ab\n\n> i\n"), style: sheet,
                environment: .init(appearance: appearance), highlighter: FixedHighlighter(tokens: tokens))
            for run in text.runs {
                let ratio = contrast(of: run, in: text)
                let least = ["default", "github"].contains(name) ? 4.5 : 3
                #expect(ratio >= least, "\(appearance): \(text.string(of: run)) has a contrast of \(ratio)")
            }
        }
    }

    /// The contrast of WCAG 2.2 ("contrast ratio"), on white or black where the sheet has no background.
    private func contrast(of run: StyledText.Run, in text: StyledText) -> Double {
        let isLight = text.environment.appearance == .light
        let block = text.path(of: run).reversed().lazy.compactMap(\.style.background).first
        let back = luminance(run.style.background ?? block) ?? (isLight ? 1 : 0)
        let front = luminance(run.style.color) ?? (isLight ? 0 : 1)
        return (max(front, back) + 0.05) / (min(front, back) + 0.05)
    }

    private func luminance(_ tone: StyleSheet.Tone?) -> Double? {
        guard case .rgb(let red, let green, let blue, 255)? = tone else { return nil }
        func linear(_ byte: UInt8) -> Double {
            let value = Double(byte) / 255
            // x² is close enough to the transfer function for a limit.
            return value * value
        }
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
}
