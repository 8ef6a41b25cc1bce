extension DirectoryEntry {
    /// The name of a file in its directory, as the bytes that the kernel keeps.
    ///
    ///     let name: DirectoryEntry.Name = "song.mp3"
    ///     let odd = DirectoryEntry.Name(bytes: [0x6B, 0xFF])        // not UTF-8, and a name all the same
    ///     print(odd)                                     // k�
    ///
    /// Two names are equal when their bytes are: "é" as one scalar and as two are different names on Linux.
    public struct Name: Sendable, Hashable {
        /// The bytes, without a zero at the end.
        public let bytes: [UInt8]

        /// A name in UTF-8.
        public init(_ name: some StringProtocol) { bytes = Array(name.utf8) }

        /// A name of these bytes, whatever they are. An operation refuses a name that is empty, "." or "..", or holds a slash or
        /// a zero byte.
        public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
    }
}

extension DirectoryEntry.Name: ExpressibleByStringLiteral {
    /// A name in UTF-8.
    public init(stringLiteral name: String) { self.init(name) }
}

extension DirectoryEntry.Name: CustomStringConvertible {
    /// The name for display: bytes that are not UTF-8 appear as U+FFFD, so this does not lead back to the name.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension DirectoryEntry.Name {
    /// Whether it is one name, and not a path, a directory's own name or nothing.
    var isSingle: Bool {
        switch bytes {
        case [], [0x2E], [0x2E, 0x2E]: false
        default: !bytes.contains { $0 == 0 || $0 == 0x2F }
        }
    }

    /// Gives the bytes with a zero at the end, as system calls take them.
    func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
            for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
            buffer[bytes.count] = 0
            return body(UnsafePointer(buffer.baseAddress!))
        }
    }
}
