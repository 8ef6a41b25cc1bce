import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The entries of a list file: one URL per line, with indented `key=value` options below it, as in aria2's input files.
///
/// ```text
/// https://example.com/download?id=7
///   out=song.mp3
///   dir=music
///   checksum=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// ```
///
/// Empty lines and lines that begin with `#` are skipped. Lines may end in CR LF.
struct GetList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var url: String
        var name: String?
        var directory: String?
        var user: String?
        var checksum: String?
        /// The file and line of the URL: `list.txt:12`.
        var place: String
    }

    var entries: [Entry] = []
    /// One line for each problem.
    var problems: [String] = []

    /// `name` is the name of the list in messages.
    init(_ text: String, name: String) {
        // By bytes: a list may have a million lines, and finding grapheme boundaries in each is slow.
        var reader = Reader(name: name)
        // Some editors write a byte order mark.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if let entry = reader.read(line) { entries.append(entry) }
        }
        if let entry = reader.finish() { entries.append(entry) }
        problems = reader.takeProblems()
    }
}

extension GetList {
    /// Reads a list line by line, so that a long list needn't be in memory.
    struct Reader {
        private let name: String
        private var lineNumber = 0
        /// The latest entry. Its options may follow.
        private var latest: Entry?
        private var problems: [String] = []

        init(name: String) { self.name = name }

        /// Reads a line. If it begins an entry, returns the entry before it, which is now complete.
        mutating func read(_ rawLine: Substring.UTF8View) -> Entry? {
            lineNumber += 1
            let line = rawLine.trimmingBlanks()
            guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
            let place = "\(name):\(lineNumber)"
            if rawLine.first == UInt8(ascii: " ") || rawLine.first == UInt8(ascii: "\t") {
                readOption(Substring(line), place)
                return nil
            }
            defer { latest = Entry(url: String(Substring(line)), place: place) }
            return latest
        }

        /// Returns the last entry.
        mutating func finish() -> Entry? { latest.take() }

        mutating func takeProblems() -> [String] {
            defer { problems = [] }
            return problems
        }

        private mutating func readOption(_ line: Substring, _ place: String) {
            guard latest != nil else {
                problems.append("\(place): The indented option has no URL above it. Begin URLs in the first column.")
                return
            }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                problems.append(
                    "\(place): '\(line)' isn't an option. Write key=value, or begin a URL in the first column.")
                return
            }
            let value = String(parts[1])
            guard !value.utf8.contains(0) else {
                problems.append("\(place): The value of \(parts[0])= has a zero byte. Remove it.")
                return
            }
            switch parts[0] {
            case "out": latest?.name = value
            case "dir": latest?.directory = value
            case "user": latest?.user = value
            case "checksum": latest?.checksum = value
            default:
                problems.append("\(place): The option '\(parts[0])' is unknown. Use out=, dir=, user= or checksum=.")
            }
        }
    }
}

extension Substring.UTF8View {
    fileprivate func trimmingBlanks() -> Substring.UTF8View {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var bytes = drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }
}
