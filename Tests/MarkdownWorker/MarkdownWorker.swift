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
            let output =
                header[0] & 64 != 0
                ? try terminal(String(decoding: text, as: UTF8.self), options, hyperlinks: header[0] & 128 != 0)
                : HTMLRenderer().render(Document(String(decoding: text, as: UTF8.self), options: options))
            var answer = Data()
            for shift in stride(from: 0, to: 32, by: 8) { answer.append(UInt8(output.utf8.count >> shift & 255)) }
            answer.append(contentsOf: output.utf8)
            try FileHandle.standardOutput.write(contentsOf: answer)
        }
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

    static func read(_ count: Int, from input: FileHandle) throws -> Data? {
        var result = Data()
        while result.count < count {
            guard let part = try input.read(upToCount: count - result.count), !part.isEmpty else { return nil }
            result += part
        }
        return result
    }
}
