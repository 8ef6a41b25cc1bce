/// The keys of a full screen.
enum WatchKey: Sendable, Equatable {
    case quit, up, down, pageUp, pageDown, first, last
}

/// Reads keys from the bytes that a terminal sends: a pure value. A sequence may arrive in several parts.
struct WatchKeys: Sendable {
    private var sequence: [UInt8] = []

    /// Returns the keys that are complete. Unknown keys are ignored.
    mutating func read(_ bytes: some Sequence<UInt8>) -> [WatchKey] {
        bytes.compactMap { read($0) }
    }

    private mutating func read(_ byte: UInt8) -> WatchKey? {
        if byte == 0x1B {
            sequence = [byte]
            return nil
        }
        guard !sequence.isEmpty else { return Self.plain(byte) }
        sequence.append(byte)
        // ESC, then [ or O, then parameters, then a final byte (ECMA-48, section 5.4).
        if sequence.count == 2 {
            guard byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") else {
                sequence = []
                return Self.plain(byte)
            }
            return nil
        }
        guard (0x40...0x7E).contains(byte) || sequence.count > 16 else { return nil }
        defer { sequence = [] }
        return Self.special(String(decoding: sequence[2...], as: UTF8.self))
    }

    private static func plain(_ byte: UInt8) -> WatchKey? {
        switch Character(UnicodeScalar(byte)) {
        case "q", "Q": .quit
        case "k": .up
        case "j": .down
        case "b": .pageUp
        case " ": .pageDown
        case "g": .first
        case "G": .last
        default: nil
        }
    }

    /// The keys of xterm and the VT220.
    private static func special(_ text: String) -> WatchKey? {
        switch text {
        case "A": .up
        case "B": .down
        case "5~": .pageUp
        case "6~": .pageDown
        case "H", "1~", "7~": .first
        case "F", "4~", "8~": .last
        default: nil
        }
    }
}
