// Reads a Markdown file and writes a PDF, in a separate process, so that its memory can be measured.
import Foundation
import NativeMark
import NativeMarkCairo

guard CommandLine.arguments.count == 3 else {
    print("usage: MarkdownToPDF FILE PDF")
    exit(64)
}
let markdown = String(decoding: try Data(contentsOf: URL(filePath: CommandLine.arguments[1])), as: UTF8.self)
_ = FileManager.default.createFile(atPath: CommandLine.arguments[2], contents: nil)
let file = try FileHandle(forWritingTo: URL(filePath: CommandLine.arguments[2]))
try CairoDrawing(StyledText(Document(markdown), style: .github)).writePDF { try file.write(contentsOf: Data($0)) }
