/// A text with a distinct private-use scalar in each place for an argument.
struct Template {
    private(set) var markdown = ""
    private(set) var places: [Unicode.Scalar: Place] = [:]
    /// The code spans that contain places, in order: the range in the text including the backticks, and the content.
    private var codes: [(range: Range<Int>, content: String, isInTable: Bool)] = []

    struct Place {
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
                places[scalar] = Place(argument: index)
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
                case .code(let content) where has(placeIn: content):
                    codes.append((node.sourceRange, content, isInTable))
                case .link(let destination, _), .image(let destination, _): setAddress(destination)
                default: break
                }
            }
        }
    }

    private mutating func setAddress(_ destination: String) {
        guard destination.utf8.contains(UInt8(ascii: "%")) else { return }
        for scalar in places.keys {
            let encoded = Self.percentEncoded(String(scalar)) { _ in false }
            if destination == encoded {
                places[scalar]?.context = .wholeAddress
            } else if destination.contains(encoded) {
                places[scalar]?.context = .address
            }
        }
    }

    private mutating func set(_ context: Context, forScalarsIn text: String) {
        for scalar in text.unicodeScalars where places[scalar] != nil { places[scalar]?.context = context }
    }

    private func has(placeIn text: String) -> Bool {
        text.unicodeScalars.contains { places[$0] != nil }
    }

    // MARK: Filling

    func filled(with arguments: [String], _ writing: Writing) -> String {
        let bytes = Array(markdown.utf8)
        var result = ""
        var place = 0
        for code in codes {
            fill(String(decoding: bytes[place..<code.range.lowerBound], as: UTF8.self), into: &result) {
                Self.written(arguments[$0.argument], in: $0.context, writing)
            }
            var content = ""
            fill(code.content, into: &content) {
                let argument = arguments[$0.argument]
                return writing == .bare ? writing.bare(argument) : argument.inOneLine
            }
            result += Self.codeSpan(content, isInTable: code.isInTable)
            place = code.range.upperBound
        }
        fill(String(decoding: bytes[place...], as: UTF8.self), into: &result) {
            Self.written(arguments[$0.argument], in: $0.context, writing)
        }
        return result
    }

    private func fill(_ text: String, into result: inout String, _ write: (Place) -> String) {
        for scalar in text.unicodeScalars {
            if let place = places[scalar] {
                result += write(place)
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

    /// Keeps the unreserved characters of RFC 3986, section 2.3, and those that `isKept` accepts.
    private static func percentEncoded(_ text: String, but isKept: (UInt8) -> Bool) -> String {
        var result = ""
        for byte in text.utf8 {
            if byte.isLetter || byte.isDigit || "-._~".utf8.contains(byte) || isKept(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.utf8.count < 2 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }

    /// Delimited by the shortest run of backticks that doesn't occur in the content.
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

    /// The text, followed by a word joiner if it is blank: blank code isn't a code block.
    fileprivate var notBlank: String {
        utf8.contains { $0 > 0x20 } ? self : self + Writing.joiner
    }

    /// The text with a word joiner between backticks or tildes that would end a code block.
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
