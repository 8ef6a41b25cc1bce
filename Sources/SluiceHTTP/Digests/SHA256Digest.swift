#if canImport(CryptoKit)
internal import CryptoKit
#else
internal import CSluiceDigests
#endif

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces: OpenSSL's libcrypto, or CryptoKit on Apple's platforms.
///
///     var digest = SHA256Digest()
///     digest.update(header)
///     digest.update(body)
///     let name = digest.finish().hexadecimal
///
/// Computes on the calling thread: take a large body off an actor first.
package struct SHA256Digest: ~Copyable {
    #if canImport(CryptoKit)
    private var hash = SHA256()
    #else
    private let state: OpaquePointer
    #endif

    /// Makes the digest of no bytes.
    package init() {
        #if !canImport(CryptoKit)
        guard let state = csluice_sha256_begin() else {
            preconditionFailure(
                "libcrypto gives no SHA-256: there is no memory, or its configuration (openssl.cnf) forbids it.")
        }
        self.state = state
        #endif
    }

    #if !canImport(CryptoKit)
    deinit { csluice_sha256_free(state) }
    #endif

    /// Takes more bytes.
    package mutating func update(_ bytes: some ContiguousBytes) {
        bytes.withUnsafeBytes { bytes in
            #if canImport(CryptoKit)
            hash.update(bufferPointer: bytes)
            #else
            precondition(csluice_sha256_update(state, bytes.baseAddress, bytes.count), "libcrypto failed.")
            #endif
        }
    }

    /// The 32 bytes of the digest.
    package consuming func finish() -> [UInt8] {
        #if canImport(CryptoKit)
        Array(hash.finalize())
        #else
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            precondition(csluice_sha256_end(state, buffer.baseAddress!), "libcrypto failed.")
            count = 32
        }
        #endif
    }

    /// The 32 bytes of the digest of bytes that are there.
    package static func of(_ bytes: some ContiguousBytes) -> [UInt8] {
        var digest = SHA256Digest()
        digest.update(bytes)
        return digest.finish()
    }
}
