#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Names for files that come from elsewhere, made safe to create in a folder.
///
///     SafeFileName.suggested(by: URL(string: "https://example.com/music/My%20Song.mp3")!)     // "My Song.mp3"
///     SafeFileName.safe("../../etc/passwd")                                                   // "passwd"
///
/// A safe name is one path component that never leads out of its folder, does not hide (no leading dot), holds no
/// controls, no bidirectional overrides, and takes at most 255 bytes in UTF-8, the limit of the common file systems.
public enum SafeFileName {
    /// The most bytes a name takes.
    public static let maximumBytes = 255

    /// The name for a URL that says none, such as `https://example.com/`.
    public static let fallback = "index.html"

    /// The last component of the URL's path, decoded and made safe; ``fallback`` where there is none.
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

    /// `name` made safe, or nil if nothing of it is left.
    ///
    /// Everything up to the last `/` or `\` goes, then controls, then leading dots and spaces and trailing spaces. A name
    /// that is too long loses characters before its extension.
    public static func safe(_ name: String) -> String? {
        if isPlain(name) { return name }
        // By scalars: a slash with a combining mark is one character, and still a slash to the file system.
        let base =
            name.unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? name.unicodeScalars[...]
        var scalars = Array(base).filter { !isUnsafe($0) && $0 != "/" && $0 != "\\" }[...]
        trim(&scalars)
        scalars = shortened(scalars, toBytes: maximumBytes)
        trim(&scalars)
        return scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
    }

    /// Whether `name` is safe as it stands.
    public static func isSafe(_ name: String) -> Bool {
        // String's equality would take one spelling of é for the other.
        isPlain(name) || (safe(name).map { $0.utf8.elementsEqual(name.utf8) } ?? false)
    }

    /// Whether `name` is of ASCII and safe as it stands: most are, and a look at the bytes tells.
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

    /// `name` with at most `limit` bytes, cut before its extension, and between characters where one fits.
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
        var stem = String(String.UnicodeScalarView(name[..<ending.startIndex]))
        while stem.utf8.count > room { stem.removeLast() }
        var kept = Array(stem.unicodeScalars)
        if kept.isEmpty {
            // One character that is longer than a name may be: as many of its scalars as fit.
            var used = 0
            kept = name[..<ending.startIndex].prefix { scalar in
                used += UTF8.width(scalar)
                return used <= room
            }.map { $0 }
        }
        return (kept + ending)[...]
    }

    /// Controls (C0, DEL, C1), line and paragraph separators, and what reorders text (UAX 9).
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF:
            true
        default: false
        }
    }
}
