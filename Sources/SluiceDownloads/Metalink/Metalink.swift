public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The files in a Metalink document (RFC 5854): their names, checksums, and the URLs of servers that have them.
///
///     let metalink = try Metalink(parsing: data)
///     let summary = try await downloads.download(metalink.requests(to: directory))
///
/// A document often comes from a stranger. No name leads out of the directory of the downloads, document types and entities are refused, and
/// nothing that the document names is read before a download.
///
/// - URLs are sorted by their priority. Other schemes than `http` and `https` are skipped, and so are torrents (`metaurl`).
/// - The strongest SHA-2 checksum counts. Older algorithms, such as MD5 and SHA-1, are skipped.
/// - `pieces`, `signature` and descriptions are skipped.
///
/// ``notes`` says what was skipped, if that matters. Version 3 of Metalink, from before the RFC, isn't supported.
public struct Metalink: Sendable, Hashable {
    /// A file of a Metalink document.
    public struct File: Sendable, Hashable {
        /// The file's name, which is safe (`SafeFileName`).
        public var name: String
        /// The directory of the file below that of the downloads, which is safe (``DownloadRequest/isSafePath(_:)``); empty for none.
        public var path: String
        /// The length in bytes, if the document has it. A server may have another file.
        public var size: Int64?
        /// The checksum, if the document has one that is strong enough.
        public var checksum: Checksum?
        /// The URLs in the order in which they are tried. There is at least one.
        public var urls: [URL]
    }

    /// The files, in the order of the document.
    public let files: [File]

    /// What was skipped and matters, in sentences.
    public let notes: [String]

    /// The largest document in bytes.
    public static let maximumSize = 16 << 20

    /// The number of URLs of a file that are used.
    static let maximumURLs = 100

    /// Reads a document.
    ///
    /// - Throws: ``Invalid`` if the data isn't a Metalink document, if a file has an unsafe name, no usable URL, or the name of another file, or
    ///   if a checksum isn't valid. A document with such a mistake isn't used at all.
    public init(parsing data: Data) throws(Invalid) {
        guard data.count <= Self.maximumSize else {
            throw Invalid(
                line: 1, message: "The document has more than \(Self.maximumSize >> 20) MiB.", remedy: "Split it.")
        }
        do throws(XMLReader.Failure) {
            var parser = MetalinkParser(reader: try XMLReader(Array(data)))
            try parser.run()
            (files, notes) = (parser.files, parser.notes)
        } catch {
            throw Invalid(
                line: error.line, message: "The document \(error.problem).",
                remedy: "Correct it, or get another one (Metalink 4, RFC 5854).")
        }
    }

    /// Returns requests to download the files to a directory, and to its subdirectories that the document names.
    ///
    /// - Precondition: `directory` is a file URL.
    public func requests(to directory: URL) -> [DownloadRequest] {
        files.map { file in
            let parent =
                file.path.isEmpty ? directory : directory.appending(path: file.path, directoryHint: .isDirectory)
            var request = DownloadRequest(file.urls[0], to: parent, name: file.name)
            request.mirrors = Array(file.urls.dropFirst())
            request.checksum = file.checksum
            return request
        }
    }

    /// Whether bytes look like a Metalink document, or another XML document, rather than a list of URLs.
    package static func isXML(_ bytes: some Sequence<UInt8>) -> Bool {
        var rest = bytes.makeIterator()
        var byte = rest.next()
        if byte == 0xEF, rest.next() == 0xBB, rest.next() == 0xBF { byte = rest.next() }
        while let blank = byte, [0x20, 0x09, 0x0A, 0x0D].contains(blank) { byte = rest.next() }
        return byte == UInt8(ascii: "<")
    }

    /// The error for data that isn't a usable Metalink document.
    public struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
        /// The number of the line, counted from 1.
        public let line: Int
        /// What is wrong, in one sentence.
        public let message: String
        /// What to do, in one sentence.
        public let remedy: String

        /// The line, what is wrong, and what to do.
        public var description: String { "Line \(line): \(message) \(remedy)" }
    }
}

// MARK: - The elements

/// Reads the elements of RFC 5854, section 4. Elements of other namespaces, and those that it doesn't know, are skipped with what they contain.
private struct MetalinkParser {
    private static let namespace = "urn:ietf:params:xml:ns:metalink"
    private static let version3 = "http://www.metalinker.org/"

    var reader: XMLReader
    private(set) var files: [Metalink.File] = []
    private(set) var notes: [String] = []
    private var paths: Set<String> = []

    init(reader: XMLReader) { self.reader = reader }

    typealias Failure = XMLReader.Failure

    private func failure(_ problem: String) -> Failure { Failure(line: reader.line, problem: problem) }

    mutating func run() throws(Failure) {
        guard case .start(let root)? = try reader.next() else { throw failure("has no element") }
        guard root.name.namespace != Self.version3 else { throw failure("is a Metalink of version 3") }
        guard root.name == .init(namespace: Self.namespace, local: "metalink") else {
            throw failure("isn't a Metalink, but has the element '\(root.name.local)'")
        }
        while let element = try nextChild() {
            if isKnown(element, "file") { try readFile(element) } else { try skipElement() }
        }
        guard try reader.next() == nil else { throw failure("has a second element") }
        guard !files.isEmpty else { throw failure("names no file") }
    }

    private mutating func readFile(_ element: XMLReader.Element) throws(Failure) {
        let (path, name) = try checkedName(of: element)
        let shown = path.isEmpty ? name : "\(path)/\(name)"
        var size: Int64?
        var checksums: [Checksum] = []
        var weaker: [String] = []
        var urls: [(priority: Int, url: URL)] = []
        var skipped: Set<String> = []
        while let child = try nextChild() {
            if isKnown(child, "size") {
                guard let found = Int64(try readText()), found >= 0, size == nil else {
                    throw failure("has a size of the file '\(shown)' that isn't a number")
                }
                size = found
            } else if isKnown(child, "hash") {
                let type = child.attributes[.init(namespace: "", local: "type")] ?? ""
                let text = try readText()
                guard let algorithm = Self.algorithm(type) else {
                    weaker.append(type)
                    continue
                }
                guard let checksum = Checksum(algorithm, hexadecimal: text) else {
                    throw failure("has a hash of the file '\(shown)' that isn't a \(algorithm.title)")
                }
                checksums.append(checksum)
            } else if isKnown(child, "url") {
                let priority = child.attributes[.init(namespace: "", local: "priority")].map { Int($0) ?? -1 }
                guard priority.map({ (1...999_999).contains($0) }) ?? true else {
                    throw failure("has a priority of the file '\(shown)' that isn't from 1 to 999999")
                }
                let text = try readText()
                do throws(URLRefusal) {
                    urls.append((priority ?? 1_000_000, try URL(fetchable: text)))
                } catch {
                    guard error.code == .unsupportedScheme else {
                        throw failure("has a URL of the file '\(shown)' that isn't valid: \(error.subject)")
                    }
                    skipped.insert("URLs with other schemes than http and https")
                }
            } else {
                if isKnown(child, "metaurl") { skipped.insert("torrents and the like (metaurl)") }
                try skipElement()
            }
        }
        guard !urls.isEmpty else { throw failure("has no http or https URL for the file '\(shown)'") }
        let checksum = checksums.max { $0.bytes.count < $1.bytes.count }
        if checksum == nil, let first = weaker.first {
            notes.append("The file '\(shown)' has no SHA-256 or SHA-512, and its \(first.prefix(20)) isn't verified.")
        }
        for kind in skipped.sorted() { notes.append("The file '\(shown)' has \(kind), which are skipped.") }
        let limit = Metalink.maximumURLs
        if urls.count > limit {
            notes.append("The file '\(shown)' has \(urls.count) URLs. The first \(limit) are used.")
        }
        files.append(
            Metalink.File(name: name, path: path, size: size, checksum: checksum, urls: Self.sorted(urls, limit)))
    }

    /// Returns each URL once. URLs of the same priority stay in the order of the document.
    private static func sorted(_ urls: [(priority: Int, url: URL)], _ limit: Int) -> [URL] {
        var seen: Set<URL> = []
        let sorted = urls.enumerated().sorted { ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset) }
        return Array(sorted.map(\.element.url).filter { seen.insert($0).inserted }.prefix(limit))
    }

    private static func algorithm(_ type: String) -> Checksum.Algorithm? {
        switch type.lowercased() {
        case "sha-256", "sha256": .sha256
        case "sha-512", "sha512": .sha512
        default: nil
        }
    }

    /// A name may have directories, separated by slashes (section 4.1.2.1).
    private mutating func checkedName(of element: XMLReader.Element) throws(Failure) -> (path: String, name: String) {
        guard let whole = element.attributes[.init(namespace: "", local: "name")] else {
            throw failure("has a file without a name")
        }
        // By scalars, because a slash with a combining mark is another character, but still a slash to the file system.
        let slash = whole.unicodeScalars.lastIndex(of: "/")
        let path = slash.map { String(whole.unicodeScalars[..<$0]) } ?? ""
        let name = slash.map { String(whole.unicodeScalars[whole.unicodeScalars.index(after: $0)...]) } ?? whole
        guard SafeFileName.isSafe(name), DownloadRequest.isSafePath(path), slash == nil || !path.isEmpty else {
            throw failure("has the file name '\(whole.prefix(80))', which isn't safe")
        }
        // Other file systems than Linux's ignore case.
        guard paths.insert(whole.lowercased()).inserted else {
            throw failure("has two files with the name '\(whole.prefix(80))'")
        }
        return (path, name)
    }

    // MARK: Elements

    private func isKnown(_ element: XMLReader.Element, _ local: String) -> Bool {
        element.name == .init(namespace: Self.namespace, local: local)
    }

    /// Returns the next element within the current one, or `nil` at its end.
    private mutating func nextChild() throws(Failure) -> XMLReader.Element? {
        while let event = try reader.next() {
            switch event {
            case .start(let element): return element
            case .text: continue
            case .end: return nil
            }
        }
        return nil
    }

    private mutating func skipElement() throws(Failure) {
        var depth = 1
        while depth > 0, let event = try reader.next() {
            switch event {
            case .start: depth += 1
            case .end: depth -= 1
            case .text: continue
            }
        }
    }

    /// Returns the text of the current element without blanks around it.
    private mutating func readText() throws(Failure) -> String {
        var text = ""
        while let event = try reader.next(), event != .end {
            guard case .text(let part) = event else { throw failure("has an element where a text belongs") }
            text += part
        }
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        var bytes = Substring(text).utf8.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
