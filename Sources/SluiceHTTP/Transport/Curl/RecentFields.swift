import HTTPTypes

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The fields that arrived lately. A server sends most of its fields with each response, and making one checks and copies its name and its
/// value, which takes three times as long as finding it here.
///
/// A line is at the position that its hash says, where it replaces another. So is a name, because the values of some fields differ.
final class RecentFields {
    private static let count = 64
    /// A longer line isn't kept.
    private static let longestLine = 256

    /// The lines without their endings, and the fields in them.
    private var lines = [[UInt8]](repeating: [], count: count)
    private var fields = [HTTPField?](repeating: nil, count: count)
    private var names = [HTTPField.Name?](repeating: nil, count: count)

    /// Returns the field in a line without its ending, or `nil` if it isn't one.
    func field(_ line: UnsafeRawBufferPointer) -> HTTPField? {
        let index = Self.position(of: line)
        if lines[index].withUnsafeBytes(line.hasSameBytes(as:)) { return fields[index] }
        // If the name isn't a token, the field is dropped, because no program could look it up.
        guard let colon = line.firstIndex(of: 0x3A), let name = name(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        else { return nil }
        let value = line[(colon + 1)...].withoutOuterSpaces
        let field = HTTPField(name: name, value: String(decoding: value, as: UTF8.self))
        // A cookie is kept no longer than its response.
        if line.count <= Self.longestLine, name != .setCookie { (lines[index], fields[index]) = (Array(line), field) }
        return field
    }

    /// Returns `nil` if the text isn't the name of a field.
    private func name(_ text: UnsafeRawBufferPointer) -> HTTPField.Name? {
        let index = Self.position(of: text)
        if let name = names[index], text.hasBytes(of: name.rawName) { return name }
        guard let name = HTTPField.Name(String(decoding: text, as: UTF8.self)) else { return nil }
        names[index] = name
        return name
    }

    /// A hash of eight bytes at a time. It needn't resist collisions: they only replace an entry.
    private static func position(of bytes: UnsafeRawBufferPointer) -> Int {
        var hash = UInt64(truncatingIfNeeded: bytes.count)
        func mix(_ word: UInt64) {
            hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 32
        }
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
            mix(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        for byte in bytes.suffix(bytes.count % 8) { mix(UInt64(byte)) }
        return Int(hash % UInt64(count))
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// The bytes without spaces and tabs at both ends.
    var withoutOuterSpaces: Self {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var bytes = drop(while: isSpace)
        while let last = bytes.last, isSpace(last) { bytes = bytes.dropLast() }
        return bytes
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard let start = baseAddress, let otherStart = other.baseAddress else { return count == other.count }
        return count == other.count && memcmp(start, otherStart, count) == 0
    }

    fileprivate func hasBytes(of text: String) -> Bool {
        var text = text
        return text.withUTF8 { hasSameBytes(as: UnsafeRawBufferPointer($0)) }
    }
}
