/// The checksums of a file such as `SHA256SUMS`, which `sha256sum` and `sha512sum` write and verify.
///
///     let list = try ChecksumList(text)
///     let checksum = list["song.mp3"]
///
/// Both forms are read:
///
/// ```text
/// 9f86…0a08  song.mp3                  GNU: the digits, two spaces (or a space and *), and the name
/// SHA256 (song.mp3) = 9f86…0a08        BSD, as `--tag` and the tools of BSD systems write it
/// ```
///
/// In the first form, the number of digits tells the algorithm. If a line begins with a backslash, `\\`, `\n` and `\r` in its name stand for a
/// backslash and line breaks. Empty lines and lines that begin with `#` are skipped. So are lines in the BSD form with other algorithms, such as
/// `MD5 (…)`; a file has both if it lists several. If a name occurs twice, the last line with the strongest algorithm counts.
public struct ChecksumList: Sendable, Hashable {
    private var byName: [String: Checksum] = [:]

    /// Reads the text of a list.
    ///
    /// - Throws: ``Invalid`` with the number of the first line that isn't valid.
    public init(_ text: String) throws(Invalid) {
        let lines = text.utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "\n") }
        for (index, line) in lines.enumerated() {
            var line = line
            if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
            switch Self.entry(String(Substring(line))) {
            case .found(let name, let checksum):
                if let known = byName[name], known.bytes.count > checksum.bytes.count { continue }
                byName[name] = checksum
            case .otherAlgorithm: continue
            case .invalid: throw Invalid(line: index + 1)
            }
        }
    }

    /// The number of names.
    public var count: Int { byName.count }

    /// The names, in alphabetical order. They are paths if the list was made with paths.
    public var names: [String] { byName.keys.sorted() }

    /// The checksum of the file with this name; `nil` if the list doesn't have it. `./song.mp3` in the list also stands for `song.mp3`.
    public subscript(name: String) -> Checksum? { byName[name] ?? byName["./\(name)"] }

    /// The error for text that isn't a list of checksums.
    public struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
        /// The number of the line, counted from 1.
        public let line: Int

        /// The line's number and a remedy.
        public var description: String {
            "Line \(line) isn't a checksum. Write lines as sha256sum or sha512sum do: the digits, two spaces and the name."
        }
    }

    private enum Entry {
        case found(String, Checksum)
        case otherAlgorithm
        case invalid
    }

    private static func entry(_ line: String) -> Entry {
        let isEscaped = line.utf8.first == UInt8(ascii: "\\")
        let line = isEscaped ? line.dropFirst() : line[...]
        func found(_ name: Substring, _ checksum: Checksum?) -> Entry {
            guard let checksum, !name.isEmpty, let name = isEscaped ? unescaped(name) : String(name) else {
                return .invalid
            }
            return .found(name, checksum)
        }
        let digits = line.prefix { $0.isASCII && $0.isHexDigit }
        if let algorithm = Checksum.Algorithm.allCases.first(where: { 2 * $0.byteCount == digits.utf8.count }) {
            let rest = line[digits.endIndex...]
            guard rest.hasPrefix("  ") || rest.hasPrefix(" *") else { return .invalid }
            return found(rest.dropFirst(2), Checksum(algorithm, hexadecimal: digits))
        }
        guard let open = line.firstRange(of: " ("), let end = line.ranges(of: ") = ").last,
            open.upperBound <= end.lowerBound
        else { return .invalid }
        let title = line[..<open.lowerBound]
        guard !title.isEmpty, title.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_/".contains($0)) })
        else {
            return .invalid
        }
        let name = title.uppercased().replacing("-", with: "")
        guard let algorithm = Checksum.Algorithm.allCases.first(where: { $0.rawValue.uppercased() == name }) else {
            return .otherAlgorithm
        }
        return found(
            line[open.upperBound..<end.lowerBound],
            Checksum(algorithm, hexadecimal: line[end.upperBound...]))
    }

    private static func unescaped(_ name: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = name.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
