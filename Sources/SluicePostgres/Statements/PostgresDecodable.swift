#if PostgreSQL
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A type that the values of a result can be decoded to.
package protocol PostgresDecodable: Sendable {
    /// Creates a value from the text that the server sent, or from `nil` for NULL. Returns `nil` if the text doesn't fit the type.
    init?(postgresText text: UnsafeRawBufferPointer?)
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else {
            self = .none
            return
        }
        guard let wrapped = Wrapped(postgresText: text) else { return nil }
        self = .some(wrapped)
    }
}

extension String: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else { return nil }
        self.init(decoding: text, as: UTF8.self)
    }
}

extension Int64: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else { return nil }
        self.init(String(decoding: text, as: UTF8.self))
    }
}

extension Int: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let value = Int64(postgresText: text) else { return nil }
        self.init(exactly: value)
    }
}

extension Double: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else { return nil }
        self.init(String(decoding: text, as: UTF8.self))
    }
}

extension Bool: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text, text.count == 1 else { return nil }
        switch text[0] {
        case UInt8(ascii: "t"): self = true
        case UInt8(ascii: "f"): self = false
        default: return nil
        }
    }
}

extension [UInt8]: PostgresDecodable {
    /// Decodes the hexadecimal form, `\x0aff`, which servers have sent by default since version 9.0.
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text, text.count >= 2, text.count.isMultiple(of: 2), text[0] == UInt8(ascii: "\\"),
            text[1] == UInt8(ascii: "x")
        else { return nil }
        self.init()
        reserveCapacity(text.count / 2 - 1)
        for index in stride(from: 2, to: text.count, by: 2) {
            guard let high = Self.digit(text[index]), let low = Self.digit(text[index + 1]) else { return nil }
            append(high << 4 | low)
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Data: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let bytes = [UInt8](postgresText: text) else { return nil }
        self.init(bytes)
    }
}
#endif
