/// The entries of a list file: one URL a line, with indented `key=value` options below it, as aria2 reads them.
///
///     https://example.com/download?id=7
///       out=song.mp3
///       dir=music
///
/// Empty lines and lines that begin with `#` are skipped. Lines may end in CR LF.
struct GetList: Sendable, Equatable {
    /// A URL and its options.
    struct Entry: Sendable, Equatable {
        var url: String
        var name: String?
        var folder: String?
        /// Where the URL stands: `list.txt:12`.
        var place: String
    }

    /// The entries, in order.
    var entries: [Entry] = []
    /// What is wrong with the list, a line each.
    var problems: [String] = []

    /// Reads `text`; messages call it `name`.
    init(_ text: String, name: String) {
        var lineNumber = 0
        for rawLine in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            lineNumber += 1
            let place = "\(name):\(lineNumber)"
            let line = rawLine.trimmingBlanks()
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard rawLine.first == " " || rawLine.first == "\t" else {
                entries.append(Entry(url: String(line), place: place))
                continue
            }
            readOption(line, place)
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
        switch parts[0] {
        case "out": entries[entries.count - 1].name = value
        case "dir": entries[entries.count - 1].folder = value
        default:
            problems.append("\(place): unknown option \"\(parts[0])\"; a list knows out= and dir=")
        }
    }
}

extension StringProtocol {
    fileprivate func trimmingBlanks() -> Substring {
        var text = Substring(self).drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
