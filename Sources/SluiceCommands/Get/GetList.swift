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
///
/// A line that begins with `{` is a JSON object instead, with the URL and the same options:
///
/// ```text
/// {"url": "https://example.com/download?id=7", "out": "song.mp3", "header": ["Accept-Language: en"]}
/// ```
struct GetList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var url: String
        var name: String?
        var directory: String?
        var user: String?
        var checksum: String?
        /// Header fields, `Name: value`.
        var headers: [String] = []
        var referer: String?
        /// Other URLs of the file.
        var mirrors: [String] = []
        /// The file's directory below that of the downloads, which is safe.
        var path: String?
        /// The file and line of the URL: `list.txt:12`.
        var place: String
    }

    var entries: [Entry] = []
    /// One line for each problem.
    var problems: [String] = []
    /// What is left out and matters, one line each.
    var notes: [String] = []

    /// `name` is the name of the list in messages.
    init(_ text: String, name: String) {
        // By bytes: a list may have a million lines, and finding grapheme boundaries in each is slow.
        var reader = Reader(name: name)
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if let entry = reader.read(line) { entries.append(entry) }
        }
        if let entry = reader.finish() { entries.append(entry) }
        problems = reader.takeProblems()
    }

    /// Reads a Metalink document, whose files are entries like any others.
    init(metalink data: Data, name: String) {
        do throws(Metalink.Invalid) {
            let metalink = try Metalink(parsing: data)
            entries = metalink.files.map { file in
                Entry(
                    url: file.urls[0].absoluteString, name: file.name, checksum: file.checksum?.description,
                    mirrors: file.urls.dropFirst().map(\.absoluteString), path: file.path.isEmpty ? nil : file.path,
                    place: "\(name): '\(file.name)'")
            }
            notes = metalink.notes.map { "Note: \(name): \($0)" }
        } catch {
            problems = ["\(name):\(error.line): \(error.message) \(error.remedy)"]
        }
    }
}

extension GetList {
    /// Reads a list line by line, so that a long list needn't be in memory.
    struct Reader {
        private let name: String
        private var lineNumber = 0
        /// The latest entry. Its options may follow.
        private var latest: Entry?
        /// Whether the latest entry is a JSON object.
        private var isJSON = false
        private var problems: [String] = []

        init(name: String) { self.name = name }

        /// Reads a line. If it begins an entry, returns the entry before it, which is now complete.
        mutating func read(_ rawLine: Substring.UTF8View) -> Entry? {
            lineNumber += 1
            // Some editors write a byte order mark.
            let mark = "\u{FEFF}".utf8
            let rawLine = lineNumber == 1 && rawLine.starts(with: mark) ? rawLine.dropFirst(mark.count) : rawLine
            let line = rawLine.trimmingBlanks()
            guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
            let place = "\(name):\(lineNumber)"
            if first == UInt8(ascii: "{") {
                isJSON = true
                defer { latest = object(Substring(line), place) }
                return latest
            }
            if rawLine.first == UInt8(ascii: " ") || rawLine.first == UInt8(ascii: "\t") {
                readOption(Substring(line), place)
                return nil
            }
            defer { latest = Entry(url: String(Substring(line)), place: place) }
            isJSON = false
            return latest
        }

        /// Returns the last entry.
        mutating func finish() -> Entry? { latest.take() }

        mutating func takeProblems() -> [String] {
            defer { problems = [] }
            return problems
        }

        private mutating func readOption(_ line: Substring, _ place: String) {
            guard !isJSON else {
                problems.append("\(place): An indented option can't follow a JSON object. Write it in the object.")
                return
            }
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
            if latest?.set(String(parts[0]), value) != true {
                problems.append(
                    "\(place): The option '\(parts[0])' is unknown. Use out=, dir=, user=, checksum=, mirror=, header= or "
                        + "referer=."
                )
            }
        }

        private mutating func object(_ line: Substring, _ place: String) -> Entry? {
            do {
                let object = try JSONDecoder().decode(ListObject.self, from: Data(line.utf8))
                var entry = Entry(url: "", place: place)
                for (key, value) in object.values {
                    if value.utf8.contains(0) {
                        throw ListObject.Invalid(problem: "The value of '\(key)' has a zero byte. Remove it.")
                    }
                    if key == "url" {
                        entry.url = value
                    } else if !entry.set(key, value) {
                        throw ListObject.Invalid(
                            problem:
                                "The key '\(key)' is unknown. Use url, out, dir, user, checksum, mirror, header or "
                                + "referer.")
                    }
                }
                guard !entry.url.isEmpty else {
                    throw ListObject.Invalid(problem: "The object has no URL. Add \"url\".")
                }
                return entry
            } catch let error as ListObject.Invalid {
                problems.append("\(place): \(error.problem)")
            } catch {
                problems.append(
                    "\(place): The line isn't a JSON object. Write it on one line, such as {\"url\": \"https://…\"}.")
            }
            return nil
        }
    }
}

extension GetList.Entry {
    /// Sets the option with this name. Returns false if there is none.
    fileprivate mutating func set(_ option: String, _ value: String) -> Bool {
        switch option {
        case "out": name = value
        case "dir": directory = value
        case "user": user = value
        case "checksum": checksum = value
        case "mirror": mirrors.append(value)
        case "header": headers.append(value)
        case "referer": referer = value
        default: return false
        }
        return true
    }
}

/// A JSON object of a list: texts, or arrays of texts, by key.
private struct ListObject: Decodable {
    struct Invalid: Error {
        var problem: String
    }

    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The texts, sorted by key. Those of an array stay in order.
    var values: [(key: String, value: String)] = []

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        for key in container.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
            if let text = try? container.decode(String.self, forKey: key) {
                values.append((key.stringValue, text))
            } else if ["header", "mirror"].contains(key.stringValue),
                let texts = try? container.decode([String].self, forKey: key)
            {
                values += texts.map { (key.stringValue, $0) }
            } else {
                throw Invalid(problem: "The value of '\(key.stringValue)' isn't a text. Put it in quotes.")
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
