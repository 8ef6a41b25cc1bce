/// The bytes of the HTML so far.
///
/// Rendering takes two thirds of the time that it takes with an array, which checks for each piece whether it is shared.
struct HTMLOutput: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var room: Int
    private(set) var count = 0

    init(capacity: Int = 64) {
        room = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    var last: UInt8? { count > 0 ? start[count - 1] : nil }

    var text: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

    @inline(__always) private mutating func reserve(_ added: Int) {
        if count &+ added > room { grow(by: added) }
    }

    @inline(never) private mutating func grow(by added: Int) {
        room = max(2 * room, count + added)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: room)
        grown.update(from: start, count: count)
        start.deallocate()
        start = grown
    }

    mutating func append(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    @inline(__always) mutating func append(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        (start + count).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        count &+= text.utf8CodeUnitCount
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            guard let first = bytes.baseAddress else { return }
            reserve(bytes.count)
            (start + count).update(from: first, count: bytes.count)
            count &+= bytes.count
        }
    }

    mutating func appendEscaped(_ text: String) {
        var text = text
        text.withUTF8 { appendEscaped($0) }
    }

    /// Appends text with entities for `&`, `<`, `>` and `"`. There is always room for the rest of the text, so that a whole word is copied
    /// before its bytes are looked at.
    mutating func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        reserve(bytes.count)
        while index &+ 8 <= bytes.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            UnsafeMutableRawPointer(start + count).storeBytes(of: word, as: UInt64.self)
            // & and " differ in one bit, as do < and >.
            let value = UInt64(littleEndian: word)
            let special =
                (value | UInt64(repeating: 0x04)).matches(of: 0x26)
                | (value | UInt64(repeating: 0x02)).matches(of: 0x3E)
            guard special != 0 else {
                index &+= 8
                count &+= 8
                continue
            }
            let length = special.trailingZeroBitCount / 8
            index &+= length
            count &+= length
            appendEscaped(bytes[index])
            index &+= 1
            reserve(bytes.count &- index)
        }
        while index < bytes.count {
            appendEscaped(bytes[index])
            index &+= 1
        }
    }

    @inline(__always) private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case 0x26: append("&amp;")
        case 0x3C: append("&lt;")
        case 0x3E: append("&gt;")
        case 0x22: append("&quot;")
        default: append(byte)
        }
    }
}
