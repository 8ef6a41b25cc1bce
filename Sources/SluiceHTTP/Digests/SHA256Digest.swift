#if canImport(CryptoKit)
internal import CryptoKit
#else
internal import CSluiceHTTP
#endif

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// An incremental SHA-256 digest (FIPS 180-4), computed by OpenSSL's libcrypto, or by CryptoKit on Apple's platforms.
///
///     var digest = SHA256Digest()
///     digest.update(body)
///     let name = digest.finish().hexadecimal
///
/// It computes on the calling thread. Don't digest large bodies on an actor that must stay responsive.
package struct SHA256Digest: ~Copyable {
    #if canImport(CryptoKit)
    private var hash = SHA256()
    #else
    private let state: OpaquePointer
    #endif

    package init() {
        #if !canImport(CryptoKit)
        guard let state = csluice_sha256_begin() else {
            preconditionFailure(
                "libcrypto couldn't compute SHA-256, because there is no memory or its configuration (openssl.cnf) forbids it."
            )
        }
        self.state = state
        #endif
    }

    #if !canImport(CryptoKit)
    deinit { csluice_digest_free(state) }
    #endif

    package mutating func update(_ bytes: some ContiguousBytes) {
        bytes.withUnsafeBytes { bytes in
            #if canImport(CryptoKit)
            hash.update(bufferPointer: bytes)
            #else
            precondition(
                csluice_digest_update(state, bytes.baseAddress, bytes.count),
                "libcrypto couldn't add \(bytes.count) bytes to a SHA-256 digest.")
            #endif
        }
    }

    package consuming func finish() -> [UInt8] {
        #if canImport(CryptoKit)
        Array(hash.finalize())
        #else
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            precondition(csluice_digest_end(state, buffer.baseAddress!), "libcrypto couldn't finish a SHA-256 digest.")
            count = 32
        }
        #endif
    }

    package static func of(_ bytes: some ContiguousBytes) -> [UInt8] {
        var digest = SHA256Digest()
        digest.update(bytes)
        return digest.finish()
    }
}

// MARK: - As text

extension Sequence<UInt8> {
    package var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            text.append(Self.digit(byte >> 4))
            text.append(Self.digit(byte & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
}
