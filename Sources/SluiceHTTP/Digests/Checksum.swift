#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The expected digest of a file: an algorithm and its result.
///
///     let expected = Checksum("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
///
/// SHA-256 and SHA-512 (FIPS 180-4) are supported. Older algorithms, such as MD5 and SHA-1, aren't, because files with the same digest can
/// be made.
public struct Checksum: Sendable, Hashable, LosslessStringConvertible {
    /// An algorithm that computes digests.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        case sha256, sha512

        /// The length of a digest in bytes.
        public var byteCount: Int { self == .sha256 ? 32 : 64 }

        /// The name in messages: "SHA-256".
        package var title: String { self == .sha256 ? "SHA-256" : "SHA-512" }

        /// The key in `Repr-Digest` and `Content-Digest` (RFC 9530, section 5).
        var key: String { self == .sha256 ? "sha-256" : "sha-512" }
    }

    /// The algorithm.
    public let algorithm: Algorithm
    /// The digest.
    public let bytes: [UInt8]

    /// Creates a checksum. Returns `nil` if the number of bytes isn't the algorithm's.
    public init?(_ algorithm: Algorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Creates a checksum from the algorithm's name, a colon and hexadecimal digits, such as `sha256:9f86…`. Uppercase and lowercase letters
    /// are the same, and `SHA-256` is another spelling of `sha256`. Returns `nil` if the text isn't a checksum.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2,
            let algorithm = Algorithm(
                rawValue: String(Substring(parts[0])).lowercased().replacing("-", with: ""))
        else { return nil }
        self.init(algorithm, hexadecimal: Substring(parts[1]))
    }

    /// Creates a checksum from hexadecimal digits. Returns `nil` if there is another character, or if their number isn't the algorithm's.
    package init?(_ algorithm: Algorithm, hexadecimal text: some StringProtocol) {
        guard text.utf8.count == 2 * algorithm.byteCount, let bytes = text.hexadecimalBytes else { return nil }
        self.init(algorithm, bytes: bytes)
    }

    /// The algorithm's name, a colon and lowercase hexadecimal digits.
    public var description: String { "\(algorithm.rawValue):\(bytes.hexadecimal)" }
}

// MARK: - Digest fields

extension Checksum {
    /// Returns the checksums in the value of a `Repr-Digest` or `Content-Digest` field (RFC 9530): a dictionary of byte sequences (RFC 9651).
    ///
    /// Members with other algorithms are skipped. If the value isn't a dictionary, or a digest has the wrong length, the result is empty: such
    /// a field says nothing about the bytes.
    package static func inField(_ value: String) -> [Checksum] {
        var found: [String: Checksum] = [:]
        for member in value.splitOutsideQuotes(at: UInt8(ascii: ",")) {
            let parts = member.trimmingSpaces().utf8.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let key = String(Substring(parts[0]))
            guard let algorithm = Algorithm.allCases.first(where: { $0.key == key }) else { continue }
            guard let bytes = byteSequence(parts[1]), let checksum = Checksum(algorithm, bytes: bytes) else {
                return []
            }
            // The last of several members with one key counts (RFC 9651, section 4.2.2).
            found[key] = checksum
        }
        return Algorithm.allCases.compactMap { found[$0.key] }
    }

    /// Returns the bytes of `:BASE64:`, which parameters may follow.
    private static func byteSequence(_ text: Substring.UTF8View) -> [UInt8]? {
        let colon = UInt8(ascii: ":")
        guard text.first == colon, let end = text.dropFirst().firstIndex(of: colon) else { return nil }
        let rest = text[text.index(after: end)...]
        guard rest.isEmpty || rest.first == UInt8(ascii: ";") else { return nil }
        return Data(base64Encoded: String(Substring(text[text.index(after: text.startIndex)..<end]))).map { Array($0) }
    }
}

extension StringProtocol {
    /// The bytes of an even number of hexadecimal digits, or `nil`.
    package var hexadecimalBytes: [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for byte in utf8 {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue.map({ UInt8($0) }) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? bytes : nil
    }
}
