/// The entries of a list file: one URL a line, with indented `key=value` options below it, as aria2 reads them.
///
/// ```text
/// https://example.com/download?id=7
///   out=song.mp3
///   dir=music
/// ```
///
/// Empty lines and lines that begin with `#` are skipped. Lines may end in CR LF.
struct GetList: Sendable, Equatable {
    /// A URL and its options.
    struct Entry: Sendable, Equatable {
        var url: String
        var name: String?
        var folder: String?
        var user: String?
        /// Where the URL stands: `list.txt:12`.
        var place: String
    }

    /// The entries, in order.
    var entries: [Entry] = []
    /// What is wrong with the list, a line each.
    var problems: [String] = []

    /// Reads `text`; messages call it `name`.
    init(_ text: String, name: String) {
        // By bytes: a list may have a million lines, and looking for the ends of characters in each is slow.
        var lineNumber = 0
        // Some editors put a byte order mark in front.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        for rawLine in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            lineNumber += 1
            let line = rawLine.trimmingBlanks()
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            let place = "\(name):\(lineNumber)"
            if rawLine.first == UInt8(ascii: " ") || rawLine.first == UInt8(ascii: "\t") {
                readOption(Substring(line), place)
            } else {
                entries.append(Entry(url: String(Substring(line)), place: place))
            }
        }
    }

    private mutating func readOption(_ line: Substring, _ place: String) {
        guard !entries.isEmpty else {
            problems.append("\(place): an indented option has no URL above it; begin URLs in the first column")
            return
        }
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            problems.append("\(place): \"\(line)\" is no option; write key=value, or begin a URL in the first column")
            return
        }
        let value = String(parts[1])
        guard !value.utf8.contains(0) else {
            problems.append("\(place): \(parts[0])= holds a zero byte, which no path can")
            return
        }
        switch parts[0] {
        case "out": entries[entries.count - 1].name = value
        case "dir": entries[entries.count - 1].folder = value
        case "user": entries[entries.count - 1].user = value
        default:
            problems.append("\(place): unknown option \"\(parts[0])\"; a list knows out=, dir= and user=")
        }
    }
}

extension Substring.UTF8View {
    /// Without the spaces, tabs and carriage returns at both ends.
    fileprivate func trimmingBlanks() -> Substring.UTF8View {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var bytes = drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }
}
