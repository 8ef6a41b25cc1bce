import HTTPTypes
import SluiceHTTP

/// The range of bytes that a request asks for (RFC 9110, section 14.2).
///
///     RequestedRange([.range: "bytes=0-99"])      // .from(0, through: 99)
///     RequestedRange([.range: "bytes=100-"])      // .from(100, through: .max)
///     RequestedRange([.range: "bytes=-100"])      // .last(100)
///
/// A malformed field, another unit and several ranges count as no range, because a server may always send the whole.
enum RequestedRange: Sendable, Hashable {
    case from(Int64, through: Int64)
    case last(Int64)

    init?(_ request: HTTPFields) {
        guard let field = request[.range]?.trimmingSpaces() else { return nil }
        let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let bounds = parts[1].trimmingSpaces().split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        switch (bounds[0].isEmpty, bounds[1].isEmpty) {
        case (true, false):
            guard let count = Self.number(bounds[1]) else { return nil }
            self = .last(count)
        case (false, true):
            guard let first = Self.number(bounds[0]) else { return nil }
            self = .from(first, through: .max)
        case (false, false):
            guard let first = Self.number(bounds[0]), let last = Self.number(bounds[1]), first <= last else {
                return nil
            }
            self = .from(first, through: last)
        case (true, true): return nil
        }
    }

    /// Returns the bytes of a representation with a length, or `nil` if the range contains none of them.
    func bytes(of length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last): first < length ? first..<min(last, length - 1) + 1 : nil
        case .last(let count): count > 0 && length > 0 ? max(0, length - count)..<length : nil
        }
    }

    /// Returns the bytes of a representation with an unknown length, or `nil` if they depend on it.
    var bytes: Range<Int64>? {
        guard case .from(let first, let last) = self, last < .max else { return nil }
        return first..<last + 1
    }

    /// A number that is too large counts as the largest one.
    private static func number(_ digits: Substring) -> Int64? {
        digits.isDigits ? Int64(digits) ?? .max : nil
    }
}
