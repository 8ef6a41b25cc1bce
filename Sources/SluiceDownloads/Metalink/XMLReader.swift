/// Reads an XML 1.0 document with namespaces, one event at a time.
///
///     var reader = try XMLReader(bytes)
///     while let event = try reader.next() {
///         if case .start(let element) = event { print(element.name) }
///     }
///
/// It reads the part of XML that documents on the internet need: elements, attributes, text, CDATA sections, comments, processing
/// instructions, character references and the five predefined entities, in UTF-8. It refuses document types (`<!DOCTYPE`), so there are no
/// other entities: nothing expands, and nothing else is read. Everything that isn't well-formed is an error.
///
/// **Limits.** Elements can be nested 32 levels deep and have 64 attributes, and a name has at most 200 bytes. The time is proportional to the
/// length of the document, which the caller limits.
struct XMLReader {
    /// A name and its namespace; an empty text for none.
    struct Name: Hashable {
        var namespace: String
        var local: String
    }

    struct Element: Equatable {
        var name: Name
        /// The attributes without those that declare namespaces. An attribute without a prefix has no namespace.
        var attributes: [Name: String]
    }

    enum Event: Equatable {
        case start(Element)
        /// Text between tags. One text can be several events.
        case text(String)
        case end
    }

    struct Failure: Error, Equatable {
        /// The number of the line, counted from 1.
        var line: Int
        /// What is wrong: the rest of a sentence that begins with "The document".
        var problem: String
    }

    private struct Open {
        /// The name as it is written, which the end tag must repeat.
        var tag: ArraySlice<UInt8>
        /// The namespaces that the element declares, by their prefixes.
        var namespaces: [String: String]
    }

    private static let maximumDepth = 32
    private static let maximumAttributes = 64
    private static let maximumName = 200
    private static let xmlNamespace = "http://www.w3.org/XML/1998/namespace"

    private let bytes: [UInt8]
    private var position = 0
    private var open: [Open] = []
    private var hasRoot = false
    /// Whether the last tag closed its own element (`<a/>`), whose end is the next event.
    private var endsNext = false

    /// The number of the line that is read, counted from 1. Takes time in proportion to the position.
    var line: Int { 1 + bytes[..<min(position, bytes.count)].count { $0 == 0x0A } }

    /// Checks the encoding of a document, and skips its declaration.
    init(_ bytes: [UInt8]) throws(Failure) {
        self.bytes = bytes
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) || bytes.prefix(4).contains(0) {
            throw failure("isn't UTF-8 text")
        }
        if let invalid = Self.firstInvalid(in: bytes) {
            position = invalid
            throw failure("isn't UTF-8 text, or has a control character")
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        if isAt("<?xml"), position + 5 < bytes.count, Self.isBlank(bytes[position + 5]) { try readDeclaration() }
    }

    /// Returns the next event, or `nil` at the end of the document.
    mutating func next() throws(Failure) -> Event? {
        if endsNext {
            endsNext = false
            open.removeLast()
            return .end
        }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else {
                if let text = try readText() { return .text(text) }
                continue
            }
            if isAt("<!--") {
                try readComment()
            } else if isAt("<![CDATA[") {
                return .text(try readCDATA())
            } else if isAt("<?") {
                try skip(past: "?>", "has a processing instruction without an end")
            } else if isAt("</") {
                return try readEnd()
            } else if isAt("<!") {
                throw failure("has a document type (<!DOCTYPE), which isn't supported")
            } else {
                return .start(try readStart())
            }
        }
        guard open.isEmpty else { throw failure("ends within an element") }
        guard hasRoot else { throw failure("has no element") }
        return nil
    }

    // MARK: Text

    /// Returns `nil` for blanks outside of the root element.
    private mutating func readText() throws(Failure) -> String? {
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        let text = bytes[position..<end]
        guard !open.isEmpty else {
            guard text.allSatisfy(Self.isBlank) else { throw failure("has text outside of its element") }
            position = end
            return nil
        }
        let decoded = try decoded(text, isAttribute: false)
        position = end
        return decoded
    }

    private mutating func readCDATA() throws(Failure) -> String {
        guard !open.isEmpty else { throw failure("has text outside of its element") }
        let start = position + 9
        try skip(past: "]]>", "has a CDATA section without an end")
        return String(decoding: Self.withPlainLineEnds(bytes[start..<position - 3]), as: UTF8.self)
    }

    /// Replaces references, and line ends as XML 1.0 says (section 2.11); in an attribute also other blanks (section 3.3.3).
    private func decoded(_ text: ArraySlice<UInt8>, isAttribute: Bool) throws(Failure) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "&"):
                // No reference is longer.
                guard let end = text[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
                    let scalar = Self.scalar(of: text[(index + 1)..<end])
                else { throw failure("has an entity that isn't defined, or an & that isn't written as &amp;") }
                result += UTF8.encode(scalar)!
                index = end
            case UInt8(ascii: ">") where !isAttribute && result.suffix(2).elementsEqual("]]".utf8):
                throw failure("has the text ]]> outside of a CDATA section")
            case 0x0D:
                if index + 1 >= text.endIndex || text[index + 1] != 0x0A { result.append(isAttribute ? 0x20 : 0x0A) }
            case 0x09 where isAttribute, 0x0A where isAttribute: result.append(0x20)
            default: result.append(byte)
            }
            index += 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func withPlainLineEnds(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for (index, byte) in zip(text.indices, text) {
            if byte != 0x0D {
                result.append(byte)
            } else if index + 1 >= text.endIndex || text[index + 1] != 0x0A {
                result.append(0x0A)
            }
        }
        return result
    }

    private static let entities: [String: Unicode.Scalar] = [
        "lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'",
    ]

    private static func scalar(of reference: ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard reference.first == UInt8(ascii: "#") else {
            return entities[String(decoding: reference, as: UTF8.self)]
        }
        let digits = reference.dropFirst()
        let isHexadecimal = digits.first == UInt8(ascii: "x")
        let number = String(decoding: isHexadecimal ? digits.dropFirst() : digits, as: UTF8.self)
        // Int accepts a sign.
        guard number.utf8.first.map({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) == true,
            let value = UInt32(number, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(value),
            value >= 0x20 || [0x09, 0x0A, 0x0D].contains(value), value != 0xFFFE, value != 0xFFFF
        else { return nil }
        return scalar
    }

    // MARK: Markup

    private mutating func readDeclaration() throws(Failure) {
        position += 5
        var names: [String] = []
        while true {
            let hadBlank = skipBlanks()
            if isAt("?>") { break }
            let name = String(decoding: try readName(), as: UTF8.self)
            let value = try readValue()
            guard hadBlank, !names.contains(name) else { throw failure("has an XML declaration that isn't valid") }
            names.append(name)
            switch name {
            case "version" where value.hasPrefix("1."): break
            case "encoding":
                guard ["utf-8", "us-ascii"].contains(value.lowercased()) else {
                    throw failure("has the encoding '\(value.prefix(40))', and only UTF-8 is supported")
                }
            case "standalone": break
            default: throw failure("has an XML declaration that isn't valid")
            }
        }
        guard names.first == "version" else { throw failure("has an XML declaration that isn't valid") }
        position += 2
    }

    private mutating func readComment() throws(Failure) {
        position += 4
        try skip(past: "--", "has a comment without an end")
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else {
            throw failure("has -- within a comment")
        }
        position += 1
    }

    private mutating func readEnd() throws(Failure) -> Event {
        position += 2
        let tag = try readName()
        skipBlanks()
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else {
            throw failure("has an end tag without >")
        }
        guard let last = open.popLast(), last.tag == tag else {
            throw failure("has an end tag without its start tag")
        }
        position += 1
        return .end
    }

    private mutating func readStart() throws(Failure) -> Element {
        guard !hasRoot || !open.isEmpty else { throw failure("has a second element") }
        guard open.count < Self.maximumDepth else {
            throw failure("has elements that are nested more than \(Self.maximumDepth) levels deep")
        }
        hasRoot = true
        position += 1
        let tag = try readName()
        var attributes: [(name: ArraySlice<UInt8>, value: String)] = []
        while true {
            let hadBlank = skipBlanks()
            guard position < bytes.count else { throw failure("ends within a tag") }
            if bytes[position] == UInt8(ascii: ">") {
                position += 1
                break
            }
            if isAt("/>") {
                position += 2
                endsNext = true
                break
            }
            guard hadBlank else { throw failure("has attributes without a blank between them") }
            let name = try readName()
            guard !attributes.contains(where: { $0.name == name }) else {
                throw failure("has an attribute twice in one tag")
            }
            guard attributes.count < Self.maximumAttributes else {
                throw failure("has a tag with more than \(Self.maximumAttributes) attributes")
            }
            attributes.append((name, try readValue()))
        }
        return try element(tag, attributes)
    }

    private mutating func element(
        _ tag: ArraySlice<UInt8>, _ attributes: [(name: ArraySlice<UInt8>, value: String)]
    ) throws(Failure) -> Element {
        var namespaces: [String: String] = [:]
        var others: [(prefix: String?, local: String, value: String)] = []
        for (name, value) in attributes {
            let (prefix, local) = try parts(of: name)
            if prefix == "xmlns" {
                guard !value.isEmpty, local != "xmlns", (local == "xml") == (value == Self.xmlNamespace) else {
                    throw failure("declares a namespace that isn't valid")
                }
                namespaces[local] = value
            } else if prefix == nil, local == "xmlns" {
                namespaces[""] = value
            } else {
                others.append((prefix, local, value))
            }
        }
        open.append(Open(tag: tag, namespaces: namespaces))
        let (prefix, local) = try parts(of: tag)
        var element = Element(
            name: Name(namespace: try namespace(of: prefix ?? ""), local: local), attributes: [:])
        for (prefix, local, value) in others {
            let name = Name(
                namespace: try prefix.map { prefix throws(Failure) in try namespace(of: prefix) } ?? "", local: local)
            guard element.attributes.updateValue(value, forKey: name) == nil else {
                throw failure("has an attribute twice in one tag")
            }
        }
        return element
    }

    private func namespace(of prefix: String) throws(Failure) -> String {
        if let namespace = open.reversed().lazy.compactMap({ $0.namespaces[prefix] }).first { return namespace }
        if prefix == "xml" { return Self.xmlNamespace }
        guard prefix.isEmpty else { throw failure("has the prefix '\(prefix)' without its namespace") }
        return ""
    }

    private func parts(of name: ArraySlice<UInt8>) throws(Failure) -> (prefix: String?, local: String) {
        let parts = name.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ $0.first.map(Self.startsName) == true }) else {
            throw failure("has a name that isn't valid")
        }
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        return texts.count == 1 ? (nil, texts[0]) : (texts[0], texts[1])
    }

    private mutating func readName() throws(Failure) -> ArraySlice<UInt8> {
        let name = bytes[position...].prefix(Self.maximumName + 1).prefix { byte in
            Self.startsName(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || ":-.".utf8.contains(byte)
        }
        guard let first = name.first, Self.startsName(first), name.count <= Self.maximumName else {
            throw failure("has a name that isn't valid")
        }
        position = name.endIndex
        return name
    }

    /// Every non-ASCII character counts as a letter. Names are only compared with known ones, so that accepts nothing wrong.
    private static func startsName(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    /// Reads `= "value"`.
    private mutating func readValue() throws(Failure) -> String {
        skipBlanks()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else {
            throw failure("has an attribute without a value")
        }
        position += 1
        skipBlanks()
        guard position < bytes.count, case let quote = bytes[position], quote == 0x22 || quote == 0x27,
            let end = bytes[(position + 1)...].firstIndex(of: quote)
        else { throw failure("has an attribute whose value isn't in quotes") }
        let value = bytes[(position + 1)..<end]
        guard !value.contains(UInt8(ascii: "<")) else { throw failure("has a < in an attribute") }
        let decoded = try decoded(value, isAttribute: true)
        position = end + 1
        return decoded
    }

    // MARK: Bytes

    private func failure(_ problem: String) -> Failure { Failure(line: line, problem: problem) }

    private func isAt(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            position + text.count <= bytes.count && bytes[position..<position + text.count].elementsEqual(text)
        }
    }

    private mutating func skip(past text: StaticString, _ problem: String) throws(Failure) {
        let start = position
        while position < bytes.count {
            if isAt(text) {
                position += text.utf8CodeUnitCount
                return
            }
            position += 1
        }
        position = start
        throw failure(problem)
    }

    /// Returns whether there was a blank.
    @discardableResult
    private mutating func skipBlanks() -> Bool {
        let start = position
        while position < bytes.count, Self.isBlank(bytes[position]) { position += 1 }
        return position > start
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Returns where the first byte is that isn't part of a character that XML allows (section 2.2).
    private static func firstInvalid(in bytes: [UInt8]) -> Int? {
        let isText = String(validating: bytes, as: UTF8.self) != nil
        if isText, !bytes.contains(where: { $0 < 0x20 && !isBlank($0) }), !hasNoncharacter(bytes) { return nil }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var position = 0
        while case .scalarValue(let scalar) = decoder.decode(&iterator) {
            let value = scalar.value
            guard value >= 0x20 || isBlank(UInt8(value)), value != 0xFFFE, value != 0xFFFF else { return position }
            position += UTF8.width(scalar)
        }
        return position
    }

    /// Whether U+FFFE or U+FFFF is in the text.
    private static func hasNoncharacter(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while let index = rest.firstIndex(of: 0xEF) {
            rest = rest[(index + 1)...]
            if rest.first == 0xBF, let last = rest.dropFirst().first, last >= 0xBE { return true }
        }
        return false
    }
}
