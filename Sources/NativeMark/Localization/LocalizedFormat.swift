/// A format string with specifiers like those in string catalogs: `%@`, `%lld`, `%2$@`, and `%%` for a percent sign.
///
/// Flags, widths and precisions are parsed but ignored: an argument is shown as its description. A percent sign that doesn't begin a
/// specifier stays in the text, and so does a specifier without an argument.
struct LocalizedFormat: Sendable, Hashable {
    private(set) var parts: [Part] = []

    enum Part: Sendable, Hashable {
        case text(String)
        /// The index of an argument, and the specifier as written.
        case argument(Int, written: String)
    }

    init(_ format: String) {
        let bytes = Array(format.utf8)
        var offset = 0
        var textStart = 0
        var next = 0
        func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        while offset < bytes.count {
            guard bytes[offset] == UInt8(ascii: "%"), let found = Self.specifier(in: bytes, at: offset) else {
                offset += 1
                continue
            }
            if textStart < offset { parts.append(.text(string(textStart..<offset))) }
            if found.isPercentSign {
                parts.append(.text("%"))
            } else {
                let index = found.position.map { $0 - 1 } ?? next
                if found.position == nil { next += 1 }
                parts.append(.argument(index, written: string(offset..<found.end)))
            }
            offset = found.end
            textStart = offset
        }
        if textStart < bytes.count { parts.append(.text(string(textStart..<bytes.count))) }
    }

    /// Parses `%`, a position with `$`, flags, width and precision, a length, and a letter. The space flag isn't recognized, because
    /// "100 % sure" contains no specifier.
    private static func specifier(
        in bytes: [UInt8], at start: Int
    ) -> (position: Int?, isPercentSign: Bool, end: Int)? {
        var offset = start + 1
        func skip(_ isWanted: (UInt8) -> Bool) -> Range<Int> {
            let from = offset
            while offset < bytes.count, isWanted(bytes[offset]) { offset += 1 }
            return from..<offset
        }
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "%") { return (nil, true, offset + 1) }
        var position: Int?
        let digits = skip(\.isDigit)
        if !digits.isEmpty, offset < bytes.count, bytes[offset] == UInt8(ascii: "$") {
            // A position with five or more digits exceeds any number of arguments.
            guard digits.count < 5, let number = Int(String(decoding: bytes[digits], as: UTF8.self)), number > 0 else {
                return nil
            }
            position = number
            offset += 1
        }
        let flags = skip { $0.isDigit || "+-#.".utf8.contains($0) }
        _ = skip { "hlqztjL".utf8.contains($0) }
        guard offset < bytes.count, "@diuoxXfFeEgGaAcCsSp".utf8.contains(bytes[offset]) else { return nil }
        // A named substitution.
        if bytes[offset] == UInt8(ascii: "@"), bytes[flags].contains(UInt8(ascii: "#")) { return nil }
        return (position, false, offset + 1)
    }
}

// MARK: - Filling

extension LocalizedFormat {
    /// Returns the Markdown with the arguments inserted as plain text.
    ///
    /// 1. The template is parsed with a private-use scalar in place of each argument. Markdown treats these scalars as letters.
    /// 2. The position of each scalar in the document determines how its argument is written: escaped in text, literally in code,
    ///    percent-encoded in an address.
    /// 3. The result is parsed. If anything except text differs from the first document (`は**%@**さ` isn't emphasis if the argument
    ///    begins with punctuation), the arguments get a word joiner, which has no width, on both sides. If that isn't enough, their
    ///    punctuation is removed.
    func filled(with arguments: [String], options: Document.Options) -> String {
        var template = Template(self, count: arguments.count)
        guard !template.placeholders.isEmpty else { return template.markdown }
        template.findContexts(options: options)
        let shape = Shape(Document(template.markdown, options: options))
        for style in [Writing.plain, .joined] {
            let result = template.filled(with: arguments, style)
            if Shape(Document(result, options: options)) == shape { return result }
        }
        return template.filled(with: arguments, .bare)
    }
}

/// The ways to keep an argument from being parsed as markup, from the mildest to the strictest.
enum Writing {
    case plain
    /// Escaped, with a word joiner on both sides.
    case joined
    /// Letters, digits and single spaces only, with a word joiner on both sides.
    case bare

    static let joiner = "\u{2060}"

    func text(_ argument: String) -> String {
        switch self {
        case .plain: Document.escaped(argument)
        case .joined: Self.joiner + Document.escaped(argument) + Self.joiner
        case .bare: Self.joiner + bare(argument) + Self.joiner
        }
    }

    func bare(_ argument: String) -> String {
        argument.split { !$0.isLetter && !$0.isNumber }.joined(separator: " ")
    }
}

/// The structure of a document: the kinds of its nodes in order, and where each node ends.
private struct Shape: Equatable {
    private var steps: [Step] = []

    private enum Step: Equatable {
        case kind(Document.Kind)
        case leave
    }

    init(_ document: Document) {
        for event in document.events {
            switch event {
            case .leave: steps.append(.leave)
            case .enter(let node):
                switch node.kind {
                case .text: if steps.last != .kind(.text("")) { steps.append(.kind(.text(""))) }
                case .code: steps.append(.kind(.code("")))
                case .codeBlock(_, let isFenced): steps.append(.kind(.codeBlock(info: "", isFenced: isFenced)))
                case .link: steps.append(.kind(.link(destination: "", title: nil)))
                case .image: steps.append(.kind(.image(source: "", title: nil)))
                case let kind: steps.append(.kind(kind))
                }
            }
        }
    }
}

// MARK: - Template

/// A format with a distinct private-use scalar in place of each argument.
struct Template {
    private(set) var markdown = ""
    private(set) var placeholders: [Unicode.Scalar: Placeholder] = [:]
    /// The code spans that contain placeholders, in order: the range in the text including the backticks, and the content.
    private var codes: [(range: Range<Int>, content: String, isInTable: Bool)] = []

    struct Placeholder {
        var argument: Int
        var context = Context.text
    }

    enum Context {
        case text
        case codeBlock
        /// A part of an address.
        case address
        /// A whole address.
        case wholeAddress
    }

    init(_ format: LocalizedFormat, count: Int) {
        var used: Set<Unicode.Scalar> = []
        for case .text(let text) in format.parts { used.formUnion(text.unicodeScalars) }
        // Plane 15 is a private use area. If the text already uses all of it, arguments can't be inserted.
        var free = (UInt32(0xF0000)...0xFFFFD).lazy.compactMap(Unicode.Scalar.init).filter { !used.contains($0) }
            .makeIterator()
        for part in format.parts {
            switch part {
            case .text(let text): markdown += text
            case .argument(let index, let written):
                guard index < count, let scalar = free.next() else {
                    markdown += written
                    continue
                }
                placeholders[scalar] = Placeholder(argument: index)
                markdown.unicodeScalars.append(scalar)
            }
        }
    }

    mutating func findContexts(options: Document.Options) {
        let document = Document(markdown, options: options)
        var isInTable = false
        var isInCodeBlock = false
        for event in document.events {
            switch event {
            case .leave(let node):
                if case .table = node.kind { isInTable = false }
                if case .codeBlock = node.kind { isInCodeBlock = false }
            case .enter(let node):
                switch node.kind {
                case .table: isInTable = true
                case .codeBlock: isInCodeBlock = true
                case .text(let text) where isInCodeBlock: set(.codeBlock, forScalarsIn: text)
                case .code(let content) where content.unicodeScalars.contains(where: { placeholders[$0] != nil }):
                    codes.append((node.sourceRange, content, isInTable))
                case .link(let destination, _), .image(let destination, _): setAddress(destination)
                default: break
                }
            }
        }
    }

    private mutating func setAddress(_ destination: String) {
        guard destination.utf8.contains(UInt8(ascii: "%")) else { return }
        for scalar in placeholders.keys {
            let encoded = Self.percentEncoded(String(scalar)) { _ in false }
            if destination == encoded {
                placeholders[scalar]?.context = .wholeAddress
            } else if destination.contains(encoded) {
                placeholders[scalar]?.context = .address
            }
        }
    }

    private mutating func set(_ context: Context, forScalarsIn text: String) {
        for scalar in text.unicodeScalars where placeholders[scalar] != nil { placeholders[scalar]?.context = context }
    }

    // MARK: Filling

    func filled(with arguments: [String], _ writing: Writing) -> String {
        let bytes = Array(markdown.utf8)
        var result = ""
        var offset = 0
        for code in codes {
            fill(String(decoding: bytes[offset..<code.range.lowerBound], as: UTF8.self), into: &result) {
                Self.written(arguments[$0.argument], in: $0.context, writing)
            }
            var content = ""
            fill(code.content, into: &content) {
                let argument = arguments[$0.argument]
                return writing == .bare ? writing.bare(argument) : argument.inOneLine
            }
            result += Self.codeSpan(content, isInTable: code.isInTable)
            offset = code.range.upperBound
        }
        fill(String(decoding: bytes[offset...], as: UTF8.self), into: &result) {
            Self.written(arguments[$0.argument], in: $0.context, writing)
        }
        return result
    }

    private func fill(_ text: String, into result: inout String, _ write: (Placeholder) -> String) {
        for scalar in text.unicodeScalars {
            if let placeholder = placeholders[scalar] {
                result += write(placeholder)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func written(_ argument: String, in context: Context, _ writing: Writing) -> String {
        switch context {
        case .text: writing.text(argument)
        case .codeBlock: (writing == .bare ? writing.bare(argument) : argument.inOneLine.withoutFences).notBlank
        case .address: percentEncoded(argument) { _ in false }
        // Brackets, spaces and backslashes could end a destination or begin other markup.
        case .wholeAddress:
            percentEncoded(argument) { ":/?#@!$'*+,;=%".utf8.contains($0) || $0 == 0x26 }
                .split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
        }
    }

    /// Keeps the unreserved characters of RFC 3986, section 2.3, and the bytes that `isKept` accepts.
    private static func percentEncoded(_ text: String, but isKept: (UInt8) -> Bool) -> String {
        let bytes = Array(text.utf8)
        return LinkDestination.percentEncoded(bytes) {
            bytes[$0].isLetterOrDigit || "-._~".utf8.contains(bytes[$0]) || isKept(bytes[$0])
        }
    }

    /// Returns a code span, delimited by the shortest run of backticks that doesn't occur in the content.
    private static func codeSpan(_ content: String, isInTable: Bool) -> String {
        let content = content.isEmpty ? Writing.joiner : content
        var runs: Set<Int> = []
        var run = 0
        for byte in content.utf8 {
            if byte == 0x60 {
                run += 1
            } else {
                runs.insert(run)
                run = 0
            }
        }
        runs.insert(run)
        let count = (1...).first { !runs.contains($0) } ?? 1
        let fence = String(repeating: "`", count: count)
        // The parser removes one space on each side unless the content is only spaces.
        let isPadded =
            content.hasPrefix("`") || content.hasSuffix("`")
            || (content.hasPrefix(" ") && content.hasSuffix(" ") && content.contains { $0 != " " })
        let padding = isPadded ? " " : ""
        let shown =
            isInTable
            ? content.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|") : content
        return fence + padding + shown + padding + fence
    }
}

extension String {
    fileprivate var inOneLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\n" || $0 == "\r" ? " " : $0 }))
    }

    /// The text, followed by a word joiner if it is blank, because blank code isn't a code block.
    fileprivate var notBlank: String {
        utf8.contains { $0 > 0x20 } ? self : self + Writing.joiner
    }

    /// The text with a word joiner in each run of three backticks or tildes, which could end a code block.
    fileprivate var withoutFences: String {
        var result = ""
        var run = 0
        var last: Unicode.Scalar?
        for scalar in unicodeScalars {
            run = scalar == last && (scalar == "`" || scalar == "~") ? run + 1 : 0
            if run == 2 {
                result += Writing.joiner
                run = 0
            }
            result.unicodeScalars.append(scalar)
            last = scalar
        }
        return result
    }
}

// MARK: - Escaping

extension Document {
    /// Returns Markdown that shows a string literally wherever text can occur: in a paragraph, heading, table cell or link text.
    ///
    ///     Document("Hello **\(Document.escaped(name))**")      // `*x*` or `[a](b)` in a name isn't markup
    ///     Document(Document.escaped(text)).root.plainText      // text
    ///
    /// Punctuation gets a backslash. Backticks, backslashes, control characters, U+FEFF and white space that Markdown would drop or
    /// interpret become numeric entities, so a line feed doesn't begin a new line of Markdown. U+0000 becomes U+FFFD, as in every document.
    /// Don't use the result in code, where backslashes show, or in addresses; ``init(localized:in:languages:arguments:options:)`` handles
    /// both. O(n).
    public static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count * 2)
        var last: Unicode.Scalar = "\n"
        let scalars = text.unicodeScalars
        for index in scalars.indices {
            let scalar = scalars[index]
            switch scalar.value {
            case 0x20:
                let after = scalars.index(after: index)
                let isInside = last.value > 0x20 && after < scalars.endIndex && scalars[after].value > 0x20
                result += isInside ? " " : "&#32;"
            case 0x01..<0x20: result += "&#\(scalar.value);"
            // The info string of a fenced code block can't contain a backtick, even after a backslash. A backslash at the end of a table
            // cell would escape the cell's delimiter.
            case 0x60, 0x5C: result += "&#\(scalar.value);"
            case 0x21...0x2F, 0x3A...0x40, 0x5B, 0x5D...0x5F, 0x7B...0x7E:
                result += "\\"
                result.unicodeScalars.append(scalar)
            // The parser ignores a byte order mark at the beginning of the text.
            case 0xFEFF: result += "&#\(scalar.value);"
            // Before white space, a delimiter can't open emphasis.
            case 0x80... where scalar.properties.isWhitespace: result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
            last = scalar
        }
        return result
    }
}
