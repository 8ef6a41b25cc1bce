/// Bytes with accessors that return `nil` beyond the end.
struct ImageBytes<Base: RandomAccessCollection<UInt8>> {
    private let bytes: Base

    init(_ bytes: Base) { self.bytes = bytes }

    var count: Int { bytes.count }

    private func byte(at place: Int) -> Int { Int(bytes[bytes.index(bytes.startIndex, offsetBy: place)]) }

    func has(_ text: String, at place: Int) -> Bool {
        let wanted = text.unicodeScalars
        return place + wanted.count <= count
            && zip(wanted, place...).allSatisfy { $0.value == UInt32(byte(at: $1)) }
    }

    /// The most significant byte first.
    func big(_ count: Int, at place: Int) -> Int? {
        guard place + count <= self.count else { return nil }
        return (place..<place + count).reduce(0) { $0 << 8 | byte(at: $1) }
    }

    /// The least significant byte first.
    func little(_ count: Int, at place: Int) -> Int? {
        guard place + count <= self.count else { return nil }
        return (place..<place + count).reversed().reduce(0) { $0 << 8 | byte(at: $1) }
    }
}
