#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// An incremental SHA-256 digest (FIPS 180-4).
///
///     var digest = SHA256Digest()
///     digest.update(body)
///     let name = digest.finish().hexadecimal
///
/// It computes on the calling thread. Don't digest large bodies on an actor that must stay responsive. The algorithm that a
/// ``RunningChecksum`` computes is chosen at run time; this type can't be finished twice.
package struct SHA256Digest: ~Copyable {
    private let running = RunningChecksum(.sha256)

    package init() {}

    package mutating func update(_ bytes: some ContiguousBytes) { running.update(bytes) }

    package consuming func finish() -> [UInt8] { running.finish().bytes }

    package static func of(_ bytes: some ContiguousBytes) -> [UInt8] {
        var digest = SHA256Digest()
        digest.update(bytes)
        return digest.finish()
    }
}

// MARK: - As text

// Not generic: another module's call of a generic function would create each byte's value through witness tables.
extension [UInt8] {
    package var hexadecimal: String {
        String(unsafeUninitializedCapacity: 2 * count) { text in
            for (index, byte) in enumerated() {
                text[2 * index] = Self.digit(byte >> 4)
                text[2 * index + 1] = Self.digit(byte & 15)
            }
            return 2 * count
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
}
