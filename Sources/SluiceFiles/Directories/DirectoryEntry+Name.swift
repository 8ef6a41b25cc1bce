extension DirectoryEntry {
    /// A file name as the bytes that the kernel stores. It needn't be valid UTF-8.
    ///
    /// Two names are equal if their bytes are. On Linux, "é" as one scalar and "é" as two scalars are different names.
    public struct Name: Sendable, Hashable {
        /// The bytes, without a terminating zero.
        public let bytes: [UInt8]

        /// Creates a name in UTF-8.
        public init(_ name: some StringProtocol) { bytes = Array(name.utf8) }

        /// Creates a name from bytes, without checking them. Operations refuse a name that is empty, "." or "..", or that
        /// contains a slash or a zero byte.
        public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    }
}

extension DirectoryEntry.Name: ExpressibleByStringLiteral {
    /// Creates a name in UTF-8.
    public init(stringLiteral name: String) { self.init(name) }
}

extension DirectoryEntry.Name: CustomStringConvertible {
    /// The name for display. Bytes that aren't UTF-8 appear as U+FFFD, so the name can't be recovered from it.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension DirectoryEntry.Name {
    var isSingle: Bool {
        switch bytes {
        case [], [0x2E], [0x2E, 0x2E]: false
        default: !bytes.contains { $0 == 0 || $0 == 0x2F }
        }
    }

    func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
            for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
            buffer[bytes.count] = 0
            return body(UnsafePointer(buffer.baseAddress!))
        }
    }
}
