#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The parts of a URL in the most common form, found in one pass over its bytes.
///
/// A plain URL has the scheme `http` or `https`, a host of lowercase letters, digits, dots and hyphens, no port or one from 1 to 65535, a
/// path and a query of the characters that RFC 3986 allows there, and no fragment. If the initializer returns `nil`, the URL may still be
/// valid. Then use Foundation, which takes hundreds of instructions for each part.
package struct PlainURL {
    package let isSecure: Bool
    package let port: Int?
    private let text: String
    // Both are byte offsets in `text`.
    private let hostRange: Range<Int>
    private let lastComponentRange: Range<Int>

    package init?(_ text: String) {
        var text = text
        let parts = text.withUTF8 { Self.parts($0) }
        guard let parts else { return nil }
        self.text = text
        (isSecure, hostRange, port, lastComponentRange) = parts
    }

    package init?(_ url: URL) { self.init(url.absoluteString) }

    package var host: String { part(hostRange) }

    /// The part of the path after its last slash, percent-encoded; empty if the path ends with a slash or is empty.
    package var lastComponent: String { part(lastComponentRange) }

    private func part(_ range: Range<Int>) -> String {
        let bytes = text.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
        return String(text[start..<bytes.index(start, offsetBy: range.count)])
    }

    // MARK: The bytes

    private enum Kind {
        static let host: UInt8 = 1, pathAndQuery: UInt8 = 2, hexadecimal: UInt8 = 4
    }

    private static let kinds: [UInt8] = {
        var kinds = [UInt8](repeating: 0, count: 256)
        func add(_ kind: UInt8, to characters: StaticString) {
            characters.withUTF8Buffer { for byte in $0 { kinds[Int(byte)] |= kind } }
        }
        add(Kind.host | Kind.pathAndQuery, to: "abcdefghijklmnopqrstuvwxyz0123456789.-")
        // RFC 3986, sections 3.3 and 3.4.
        add(Kind.pathAndQuery, to: "ABCDEFGHIJKLMNOPQRSTUVWXYZ_~!$&'()*+,;=:@/")
        add(Kind.hexadecimal, to: "0123456789abcdefABCDEF")
        return kinds
    }()

    private static func parts(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) -> (isSecure: Bool, host: Range<Int>, port: Int?, lastComponent: Range<Int>)? {
        guard bytes.count >= 8, bytes.starts(with: "http".utf8) else { return nil }
        let isSecure = bytes[4] == UInt8(ascii: "s")
        var index = isSecure ? 5 : 4
        guard bytes[index] == UInt8(ascii: ":"), bytes[index + 1] == UInt8(ascii: "/"),
            bytes[index + 2] == UInt8(ascii: "/")
        else { return nil }
        index += 3
        let hostStart = index
        return kinds.withUnsafeBufferPointer { kinds in
            while index < bytes.count, kinds[Int(bytes[index])] & Kind.host != 0 { index += 1 }
            let host = hostStart..<index
            guard !host.isEmpty else { return nil }
            var port: Int?
            if index < bytes.count, bytes[index] == UInt8(ascii: ":") {
                var number = 0
                index += 1
                let start = index
                while index < bytes.count, index < start + 5, (0x30...0x39).contains(bytes[index]) {
                    number = number * 10 + Int(bytes[index] - 0x30)
                    index += 1
                }
                guard (1...65535).contains(number) else { return nil }
                port = number
            }
            guard index == bytes.count || bytes[index] == UInt8(ascii: "/") || bytes[index] == UInt8(ascii: "?") else {
                return nil
            }
            var last = index
            var queryStart: Int?
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                if kinds[Int(byte)] & Kind.pathAndQuery != 0 {
                    if byte == UInt8(ascii: "/"), queryStart == nil { last = index }
                } else if byte == UInt8(ascii: "?") {
                    if queryStart == nil { queryStart = index - 1 }
                } else {
                    guard byte == UInt8(ascii: "%"), index + 1 < bytes.count,
                        kinds[Int(bytes[index])] & kinds[Int(bytes[index + 1])] & Kind.hexadecimal != 0
                    else { return nil }
                    index += 2
                }
            }
            return (isSecure, host, port, last..<(queryStart ?? bytes.count))
        }
    }
}
