import Foundation
import SluiceHTTP
import Testing

@Suite struct `SHA-256` {
    /// NIST's examples for FIPS 180-4.
    static let examples: [(bytes: [UInt8], digest: String)] = [
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            Array(repeating: UInt8(ascii: "a"), count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test(arguments: examples.indices)
    func `gives the digests in the standard`(example: Int) {
        #expect(SHA256Digest.of(Self.examples[example].bytes).hexadecimal == Self.examples[example].digest)
    }

    @Test(arguments: [1, 55, 56, 63, 64, 65, 4096])
    func `digesting in pieces gives the digest of the whole`(size: Int) {
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var digest = SHA256Digest()
        digest.update(Data())
        for start in stride(from: 0, to: bytes.count, by: size) {
            digest.update(Data(bytes[start..<min(start + size, bytes.count)]))
        }
        #expect(digest.finish() == SHA256Digest.of(bytes))
    }

    @Test func `an unfinished digest can be released`() {
        var digest = SHA256Digest()
        digest.update(Array("abc".utf8))
    }

    #if !canImport(Darwin)
    /// OpenSSL registers a cleanup to run when the process exits, while other threads may still compute digests. Sluice turns it off.
    @Test func `a digest computed after an exiting process's cleanup is correct`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            // Handlers run in reverse order, so this one runs after any cleanup that the first digest registers.
            atexit {
                let digest = SHA256Digest.of(Array("abc".utf8)).hexadecimal
                _exit(digest.hasPrefix("ba7816bf") ? 7 : 1)
            }
            _ = SHA256Digest.of([])
            exit(EXIT_SUCCESS)
        }
    }
    #endif
}
