/// A text with one scalar of its own in each place for an argument.
struct Template {
    /// The text.
    private(set) var markdown = ""
    /// The places by scalar.
    private(set) var places: [Unicode.Scalar: Place] = [:]
    /// Code in lines with places in it, in order: where it is in the text with its backticks, and what it says.
    private var codes: [(range: Range<Int>, content: String, isInTable: Bool)] = []

    struct Place {
        /// The index of the argument.
        var argument: Int
        var context = Context.text
    }

    /// Where an argument is put.
    enum Context {
        case text
        case codeBlock
        /// A part of an address.
        case address
        /// All of it.
        case wholeAddress
    }

    init(_ format: LocalizedFormat, count: Int) {
        var used: Set<Unicode.Scalar> = []
        for case .text(let text) in format.parts { used.formUnion(text.unicodeScalars) }
        // Plane 15 is for private use. A text that has all of it has no room for arguments.
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

    /// Sees where the scalars went.
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

    /// An address has its scalars percent-encoded.
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

    /// The text with the arguments in place of the scalars.
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
        // Brackets of all kinds, spaces and backslashes end a destination, or begin something else.
        case .wholeAddress:
            percentEncoded(argument) { ":/?#@!$'*+,;=%".utf8.contains($0) || $0 == 0x26 }
                .split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
        }
    }

    /// Everything but the unreserved characters of RFC 3986, section 2.3, and some more.
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

    /// Code that says this: between as many backticks as it has not got together anywhere in it.
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
        // One space on both sides is taken away, unless there is nothing else.
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
    /// With spaces in place of line ends.
    fileprivate var inOneLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\n" || $0 == "\r" ? " " : $0 }))
    }

    /// With a word joiner if there is nothing in it: code of nothing is none.
    fileprivate var notBlank: String {
        utf8.contains { $0 > 0x20 } ? self : self + Writing.joiner
    }

    /// With a word joiner where three backticks or tildes would end a block of code.
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
