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

/// A checksum of bytes that arrive one after another, computed by OpenSSL's libcrypto, or by CryptoKit on Apple's platforms.
///
///     let running = RunningChecksum(.sha512)
///     running.update(chunk)
///     print(running.finish())
///
/// It computes on the calling thread. Only one task at a time may use it.
package final class RunningChecksum {
    package let algorithm: Checksum.Algorithm
    #if canImport(CryptoKit)
    // One of them, by the algorithm.
    private var short: SHA256?
    private var long: SHA512?
    #else
    private let state: OpaquePointer
    #endif

    package init(_ algorithm: Checksum.Algorithm) {
        self.algorithm = algorithm
        #if canImport(CryptoKit)
        if algorithm == .sha256 { short = SHA256() } else { long = SHA512() }
        #else
        guard let state = algorithm == .sha256 ? csluice_sha256_begin() : csluice_sha512_begin() else {
            preconditionFailure(
                "libcrypto couldn't compute \(algorithm.title), because there is no memory or its configuration "
                    + "(openssl.cnf) forbids it.")
        }
        self.state = state
        #endif
    }

    #if !canImport(CryptoKit)
    deinit { csluice_digest_free(state) }
    #endif

    package func update(_ bytes: some ContiguousBytes) {
        bytes.withUnsafeBytes { bytes in
            #if canImport(CryptoKit)
            short?.update(bufferPointer: bytes)
            long?.update(bufferPointer: bytes)
            #else
            precondition(
                csluice_digest_update(state, bytes.baseAddress, bytes.count),
                "libcrypto couldn't add \(bytes.count) bytes to a \(algorithm.title) digest.")
            #endif
        }
    }

    /// Returns the checksum of all bytes. Call it once.
    package func finish() -> Checksum {
        #if canImport(CryptoKit)
        let bytes = short.map { Array($0.finalize()) } ?? long.map { Array($0.finalize()) } ?? []
        #else
        let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, count in
            precondition(
                csluice_digest_end(state, buffer.baseAddress!), "libcrypto couldn't finish a \(algorithm.title) digest."
            )
            count = algorithm.byteCount
        }
        #endif
        guard let checksum = Checksum(algorithm, bytes: bytes) else {
            preconditionFailure("A \(algorithm.title) digest has \(bytes.count) bytes.")
        }
        return checksum
    }
}
