#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Functions that turn names from a server or a user into safe file names.
///
///     SafeFileName.suggested(by: URL(string: "https://example.com/music/My%20Song.mp3")!)     // "My Song.mp3"
///     SafeFileName.safe("../../etc/passwd")                                                   // "passwd"
///
/// A safe name is one path component, so the file stays in its directory. It has no leading dot (a hidden file), no control characters
/// and no bidirectional overrides, and at most 255 bytes in UTF-8, which is the limit of common file systems.
public enum SafeFileName {
    /// The maximum number of UTF-8 bytes in a safe name.
    public static let maximumBytes = 255

    /// The name for a URL that contains no usable name, such as `https://example.com/`.
    public static let fallback = "index.html"

    /// Returns the last component of the URL's path, percent-decoded and made safe, or ``fallback`` if there is none.
    public static func suggested(by url: URL) -> String {
        let last = PlainURL(url)?.lastComponent ?? lastComponent(of: url)
        guard last.utf8.contains(UInt8(ascii: "%")) else { return safe(last) ?? fallback }
        let decoded = last.percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) }
        return safe(decoded ?? last) ?? fallback
    }

    private static func lastComponent(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return String(path[(slash.map { path.utf8.index(after: $0) } ?? path.startIndex)...])
    }

    /// Returns `name` as a safe name, or `nil` if no character remains.
    ///
    /// The method keeps the last non-empty part of `name` between slashes or backslashes. It then removes control characters, leading dots
    /// and spaces, and trailing spaces. If the name is too long, it is shortened before its extension.
    public static func safe(_ name: String) -> String? {
        if isPlain(name) { return name }
        // Compares scalars: a slash with a combining mark is one character, but still a slash to the file system.
        let base =
            name.unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? name.unicodeScalars[...]
        var scalars = Array(base).filter { !isUnsafe($0) && $0 != "/" && $0 != "\\" }[...]
        trim(&scalars)
        scalars = shortened(scalars, toBytes: maximumBytes)
        trim(&scalars)
        return scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
    }

    /// Returns whether `name` is already safe.
    public static func isSafe(_ name: String) -> Bool {
        // `==` would treat the composed and the decomposed é as equal.
        isPlain(name) || (safe(name).map { $0.utf8.elementsEqual(name.utf8) } ?? false)
    }

    /// Returns whether `name` is ASCII and already safe. Most names are, and this check needs only one pass over the bytes.
    private static func isPlain(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            guard let first = bytes.first, bytes.count <= maximumBytes, bytes.last != UInt8(ascii: " ") else {
                return false
            }
            if first == UInt8(ascii: ".") || first == UInt8(ascii: " ") { return false }
            return bytes.allSatisfy {
                (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
            }
        }
    }

    private static func trim(_ name: inout ArraySlice<Unicode.Scalar>) {
        name = name.drop { $0 == "." || $0 == " " }
        while name.last == " " { name.removeLast() }
    }

    /// Returns `name` with at most `limit` bytes, shortened before its extension and, if at least one character fits, between characters.
    private static func shortened(
        _ name: ArraySlice<Unicode.Scalar>, toBytes limit: Int
    ) -> ArraySlice<Unicode.Scalar> {
        func bytes(_ scalars: some Sequence<Unicode.Scalar>) -> Int {
            scalars.reduce(0) { $0 + UTF8.width($1) }
        }
        guard bytes(name) > limit else { return name }
        var ending = name[name.endIndex...]
        if let dot = name.lastIndex(of: "."), dot != name.startIndex, bytes(name[dot...]) <= 32 {
            ending = name[dot...]
        }
        let room = limit - bytes(ending)
        // From the front, because finding a boundary between flag emoji from the back means looking at all flags before it.
        var kept: [Unicode.Scalar] = []
        var size = 0
        for character in String(String.UnicodeScalarView(name[..<ending.startIndex])) {
            size += character.utf8.count
            if size > room { break }
            kept += character.unicodeScalars
        }
        if kept.isEmpty {
            // The first character alone exceeds the limit, so keep as many of its scalars as fit.
            var used = 0
            kept = name[..<ending.startIndex].prefix { scalar in
                used += UTF8.width(scalar)
                return used <= room
            }.map { $0 }
        }
        return (kept + ending)[...]
    }

    /// Returns whether the scalar is a control (C0, DEL, C1), a line or paragraph separator, or reorders text (UAX 9).
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF:
            true
        default: false
        }
    }
}

// MARK: - Content-Disposition

extension SafeFileName {
    /// Returns the file name in a `Content-Disposition` field (RFC 6266), made safe, or `nil` if it contains none.
    ///
    ///     SafeFileName.suggested(byContentDisposition: "attachment; filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac.txt")   // "€.txt"
    ///
    /// `filename*` (RFC 8187) takes precedence over `filename` (RFC 6266, section 4.3). An invalid field is parsed as far as possible,
    /// because the name is only a suggestion.
    public static func suggested(byContentDisposition field: String) -> String? {
        var parser = ParameterParser(field[...])
        parser.skipValue()
        var plain: String?
        var extended: String?
        while let (name, value) = parser.next() {
            switch name {
            case "filename": plain = plain ?? value
            case "filename*": extended = extended ?? decodedExtendedValue(value)
            default: break
            }
        }
        return extended.flatMap(safe) ?? plain.flatMap(safe)
    }

    /// Decodes a value such as `UTF-8'en'%e2%82%ac`. Returns `nil` if the character set isn't UTF-8 or ISO-8859-1, or the bytes aren't
    /// valid in it.
    private static func decodedExtendedValue(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = parts[2].percentDecodedBytes else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

/// A parser for parameters such as `; name=value; name="quoted \" value"` (RFC 9110, section 5.6.6). It parses Unicode scalars instead of
/// characters, because a quote with a combining mark is one character but still a quote.
private struct ParameterParser {
    var rest: Substring.UnicodeScalarView

    init(_ text: Substring) { rest = text.unicodeScalars }

    mutating func skipValue() {
        var quoted = false
        while let scalar = rest.first, quoted || scalar != ";" {
            if scalar == "\"" { quoted.toggle() }
            rest.removeFirst()
        }
    }

    /// Returns the next parameter, with its name in lowercase, or `nil` at the end.
    mutating func next() -> (name: String, value: String)? {
        while let first = rest.first, first == ";" || first == " " || first == "\t" { rest.removeFirst() }
        guard !rest.isEmpty else { return nil }
        let name = take { $0 != "=" && $0 != ";" }.trimmingSpaces().lowercased()
        guard rest.popFirst() == "=" else { return (name, "") }
        _ = take { $0 == " " || $0 == "\t" }
        guard rest.first == "\"" else { return (name, take { $0 != ";" }.trimmingSpaces()) }
        rest.removeFirst()
        let value = quotedString()
        skipValue()
        return (name, value)
    }

    private mutating func take(while isTaken: (Unicode.Scalar) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return String(Substring(taken))
    }

    private mutating func quotedString() -> String {
        var value = String.UnicodeScalarView()
        while let scalar = rest.popFirst(), scalar != "\"" {
            if scalar == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(scalar)
            }
        }
        return String(value)
    }
}
