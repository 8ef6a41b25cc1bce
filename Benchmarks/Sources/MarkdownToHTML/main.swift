// Reads a Markdown file and writes its HTML, as `cmark` does, in a separate process, so that its memory can be measured.
import NativeMark

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

guard CommandLine.arguments.count == 2, let file = fopen(CommandLine.arguments[1], "rb") else {
    print("usage: MarkdownToHTML FILE")
    exit(64)
}
fseek(file, 0, SEEK_END)
let size = ftell(file)
rewind(file)
let markdown = String(unsafeUninitializedCapacity: size) { fread($0.baseAddress, 1, size, file) }
fclose(file)
var html = HTMLRenderer().render(Document(markdown, options: .commonMark))
let isWritten = html.withUTF8 { bytes in
    var rest = UnsafeRawBufferPointer(bytes)[...]
    while !rest.isEmpty {
        let count = write(STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
    }
    return true
}
exit(isWritten ? 0 : 1)
