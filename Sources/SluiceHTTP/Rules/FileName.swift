#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Names for files that come from elsewhere, made safe to create in a folder.
///
///     FileName.suggested(by: URL(string: "https://example.com/music/My%20Song.mp3")!)     // "My Song.mp3"
///     FileName.safe("../../etc/passwd")                                                   // "passwd"
///
/// A safe name is one path component that never leads out of its folder, does not hide (no leading dot), holds no
/// controls, no bidirectional overrides, and takes at most 255 bytes in UTF-8, the limit of the common file systems.
public enum FileName {
    /// The most bytes a name takes.
    public static let maximumBytes = 255

    /// The name for a URL that says none, such as `https://example.com/`.
    public static let fallback = "index.html"

    /// The last component of the URL's path, decoded and made safe; ``fallback`` where there is none.
    public static func suggested(by url: URL) -> String {
        let path = url.path(percentEncoded: true)
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let decoded = last.percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) }
        return safe(decoded ?? last) ?? fallback
    }

    /// `name` made safe, or nil if nothing of it is left.
    ///
    /// Everything up to the last `/` or `\` goes, then controls, then leading dots and spaces and trailing spaces. A name
    /// that is too long loses characters before its extension.
    public static func safe(_ name: String) -> String? {
        let base = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: base.unicodeScalars.filter { !isUnsafe($0) })
        var safe = String(scalars)[...]
        safe = safe.drop { $0 == "." || $0 == " " }
        while safe.last == " " { safe.removeLast() }
        guard !safe.isEmpty else { return nil }
        return shortened(String(safe), toBytes: maximumBytes)
    }

    /// Whether `name` is safe as it stands.
    public static func isSafe(_ name: String) -> Bool {
        safe(name) == name
    }

    /// `name` with at most `limit` bytes, cut before its extension and between characters.
    static func shortened(_ name: String, toBytes limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        var stem = name[...]
        var ending = ""[...]
        if let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32 {
            stem = name[..<dot]
            ending = name[dot...]
        }
        var bytes = stem.utf8.count
        while bytes + ending.utf8.count > limit, let last = stem.popLast() {
            bytes -= last.utf8.count
        }
        return String(stem + ending)
    }

    /// Controls (C0, DEL, C1), line and paragraph separators, and what reorders text (UAX 9).
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
