import Foundation
import NativeMark

/// Renders many documents in one process: as HTML for the scripts that compare with another implementation, or as a terminal
/// shows them for the script that draws images.
///
/// Reads from standard input, and answers each document before it reads the next one: a byte with the options (1 tables,
/// 2 strikethrough, 4 task items, 8 autolinks, 16 footnotes, 32 smart punctuation), the length as 4 bytes, lowest first, and
/// the text. The answer is the length of the HTML, and the HTML.
///
/// With 64 in the first byte, three parts of the text end in NUL before the document begins: the columns, `light` or `dark`,
/// and a style sheet in JSON. The answer is then the output for a terminal with all colors, and with hyperlinks for 128.
///
/// With 128 and without 64, the text is work to measure. Two parts end in NUL before the document begins: what to do (a `Work`), and the
/// columns. The answer is the number of bytes of the output, a space, and the microseconds of CPU time.
@main
struct MarkdownWorker {
    static func main() throws {
        let input = FileHandle.standardInput
        while let header = try read(5, from: input) {
            let length = header.dropFirst().reversed().reduce(0) { $0 << 8 | Int($1) }
            guard let text = try read(length, from: input) else { return }
            var options = Document.Options.commonMark
            options.tables = header[0] & 1 != 0
            options.strikethrough = header[0] & 2 != 0
            options.taskItems = header[0] & 4 != 0
            options.autolinks = header[0] & 8 != 0
            options.footnotes = header[0] & 16 != 0
            options.smartPunctuation = header[0] & 32 != 0
            let source = String(decoding: text, as: UTF8.self)
            let output =
                switch header[0] & 192 {
                case 0: try html(source, options)
                case 128: try measured(source, options)
                default: try terminal(source, options, hyperlinks: header[0] & 128 != 0)
                }
            var answer = Data()
            for shift in stride(from: 0, to: 32, by: 8) { answer.append(UInt8(output.utf8.count >> shift & 255)) }
            answer.append(contentsOf: output.utf8)
            try FileHandle.standardOutput.write(contentsOf: answer)
        }
    }

    /// Both ways to the HTML must agree.
    static func html(_ text: String, _ options: Document.Options) throws -> String {
        let html = HTMLRenderer().render(markdown: text, options: options)
        guard html == HTMLRenderer().render(Document(text, options: options)) else {
            throw CocoaError(.coderInvalidValue)
        }
        return html
    }

    static func terminal(_ text: String, _ options: Document.Options, hyperlinks: Bool) throws -> String {
        let parts = text.split(separator: "\0", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let width = Int(parts[0]),
            let appearance = StyleSheet.Appearance(rawValue: parts[1])
        else { throw CocoaError(.coderInvalidValue) }
        let styled = StyledText(
            Document(parts[3], options: options), style: try StyleSheet(json: parts[2]),
            environment: .init(appearance: appearance), highlighter: .languages)
        return TerminalRenderer(width: width, color: .full, hyperlinks: hyperlinks).render(styled)
    }

    enum Work: String {
        case html, code, plain, terminal, hyperlinks, attributed, stream, edits
    }

    static func measured(_ text: String, _ options: Document.Options) throws -> String {
        let parts = text.split(separator: "\0", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let work = Work(rawValue: parts[0]), let width = Int(parts[1]) else {
            throw CocoaError(.coderInvalidValue)
        }
        let start = clock()
        let count = count(work, parts[2], options, width: width)
        return "\(count) \((clock() - start) * 1_000_000 / CLOCKS_PER_SEC)"
    }

    /// Returns the number of bytes of the output.
    static func count(_ work: Work, _ source: String, _ options: Document.Options, width: Int) -> Int {
        switch work {
        case .html: return HTMLRenderer().render(Document(source, options: options)).utf8.count
        case .code:
            return HTMLRenderer().render(Document(source, options: options), highlighter: .languages).utf8.count
        case .plain: return PlainText(Document(source, options: options)).string.utf8.count
        case .terminal, .hyperlinks:
            let renderer = TerminalRenderer(width: width, color: .full, hyperlinks: work == .hyperlinks)
            return renderer.render(Document(source, options: options)).utf8.count
        case .attributed:
            let text = AttributedString(StyledText(Document(source, options: options)))
            return text.runs.reduce(0) { count, run in
                count + 1 + (run[NativeMarkAttributes.Blocks.self]?.blocks.count ?? 0)
            }
        case .stream:
            var stream = DocumentStream(options: options)
            var rest = source.utf8[...]
            while !rest.isEmpty {
                stream.append(String(Substring(rest.prefix(64))))
                rest = rest.dropFirst(64)
            }
            stream.finish()
            return stream.blocks.reduce(stream.footnotes?.source.utf8.count ?? 0) { $0 + $1.document.source.utf8.count }
        case .edits:
            var document = Document(source, options: options)
            for part in 0..<4 {
                let position = document.source.utf8.count * part / 3
                let index = document.source.utf8.index(document.source.startIndex, offsetBy: position)
                guard index.samePosition(in: document.source.unicodeScalars) != nil else { continue }
                for text in ["x", "\n\n", "`"] { document = document.replacing(position..<position, with: text) }
            }
            return document.source.utf8.count
        }
    }

    static func read(_ count: Int, from input: FileHandle) throws -> Data? {
        var result = Data()
        while result.count < count {
            guard let part = try input.read(upToCount: count - result.count), !part.isEmpty else { return nil }
            result += part
        }
        return result
    }
}
