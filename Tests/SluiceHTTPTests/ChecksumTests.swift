import Foundation
import Testing

@testable import SluiceHTTP

@Suite struct `A checksum` {
    private static let abc256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    /// NIST's example for FIPS 180-4.
    private static let abc512 =
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

    @Test(arguments: Checksum.Algorithm.allCases) func `is that of the standard's example`(
        algorithm: Checksum.Algorithm
    ) {
        let expected = algorithm == .sha256 ? Self.abc256 : Self.abc512
        for pieces in [["abc"], ["a", "", "bc"], ["a", "b", "c"]] {
            let running = RunningChecksum(algorithm)
            for piece in pieces { running.update(Data(piece.utf8)) }
            #expect(running.finish().description == "\(algorithm.rawValue):\(expected)")
        }
    }

    @Test(arguments: [
        ("sha256:\(abc256)", true), ("SHA-256:\(abc256.uppercased())", true), ("sha512:\(abc512)", true),
        ("sha256:\(abc512)", false), ("sha256:\(abc256.dropLast())", false), ("sha256:\(abc256.dropLast())g", false),
        ("sha256:\(abc256.dropLast())\u{301}", false), ("sha256: \(abc256)", false), (abc256, false),
        ("md5:900150983cd24fb0d6963f7d28e17f72", false), ("", false), (":", false), ("sha256:", false),
    ])
    func `is written as algorithm and digits`(text: String, isValid: Bool) {
        let checksum = Checksum(text)
        #expect((checksum != nil) == isValid)
        if let checksum { #expect(Checksum(checksum.description) == checksum) }
    }

    @Test(arguments: [
        (":ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:", 1),
        (":ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:;x=\"a,b\"", 1), (":AAAA:", 0), ("abc", 0), (":", 0), ("::", 0),
        (":*:", 0), (":ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:x", 0),
    ])
    func `in a digest field is a byte sequence`(value: String, count: Int) {
        let found = Checksum.inField("sha-256=\(value)")
        #expect(found.map(\.description) == (count == 1 ? ["sha256:\(Self.abc256)"] : []))
        // Other algorithms don't matter.
        let others = Checksum.inField("md5=:AAAA:, unixsum=\"30\",\tsha-256=\(value) , id-sha-512=?1")
        #expect(others == found)
    }
}

@Suite struct `A list of checksums` {
    private static let one = String(repeating: "1a", count: 32)
    private static let two = String(repeating: "2b", count: 64)

    @Test(arguments: [
        ("\(one)  a.txt\n", "a.txt", one), ("\(one) *a.txt\r\n", "a.txt", one), ("\(one)  dir/a  b", "dir/a  b", one),
        ("\(one)  ./a", "a", one), ("\(two)  a", "a", two), ("\(one.uppercased())  a", "a", one),
        ("SHA256 (a (1).txt) = \(one)", "a (1).txt", one), ("SHA-512 (a) = \(two)", "a", two),
        ("SHA256 (a) = b) = \(one)", "a) = b", one),
        ("# x\n\nMD5 (a) = 900150983cd24fb0d6963f7d28e17f72\nSHA256 (a) = \(one)", "a", one),
        ("\(two)  a\n\(one)  a", "a", two), ("\(one)  a\n\(two)  a", "a", two),
        (#"\\#(one)  a\\b\nc"#, "a\\b\nc", one), ("\(one)  é\u{1F3B5}", "é\u{1F3B5}", one),
    ])
    func `has the form of GNU's or BSD's tools`(text: String, name: String, digits: String) throws {
        #expect(try ChecksumList(text)[name]?.bytes.hexadecimal == digits)
    }

    @Test(arguments: [
        ("\(one)", 1), ("\(one) a", 1), ("\(one)  ", 1), ("\(one)  a\n<html>", 2), ("\(one.dropLast())  a", 1),
        ("SHA256 (a) = \(two)", 1), ("SHA256 (a) \(one)", 1), ("SHA256 () = \(one)", 1), (#"\\#(one)  a\x"#, 1),
        (#"\\#(one)  a\"#, 1), (") = (", 1), (" (a) = \(one)", 1),
    ])
    func `that isn't valid is an error with the line`(text: String, line: Int) {
        let error = #expect(throws: ChecksumList.Invalid.self) { try ChecksumList(text) }
        #expect(error?.line == line)
    }
}
