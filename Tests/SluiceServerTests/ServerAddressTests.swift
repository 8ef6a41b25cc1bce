import Foundation
import Testing

@testable import SluiceServer

@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", ServerAddress.ip("127.0.0.1", port: 8080), true),
        ("localhost:80", .ip("127.0.0.1", port: 80), true),
        ("[::1]:0", .ip("::1", port: 0), true),
        ("0.0.0.0:8080", .ip("0.0.0.0", port: 8080), false),
        ("[2001:db8::1]:443", .ip("2001:db8::1", port: 443), false),
        ("unix:/run/sluice.sock", .unixSocket(URL(filePath: "/run/sluice.sock", directoryHint: .notDirectory)), true),
    ])
    func `an address is read`(text: String, address: ServerAddress, isLocal: Bool) throws {
        let read = try ServerAddress(text)
        #expect(read == address)
        #expect(read.isLocal == isLocal)
        #expect(try ServerAddress(read.description) == read)
    }

    @Test(arguments: [
        "", ":", ":80", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:8o", "::1:80",
        "[::1]", "[::1", "[127.0.0.1]:80", "example.com:80", "unix:", "127.1:80",
    ])
    func `other text isn't an address`(text: String) {
        #expect(throws: ServerAddress.Malformed.self) { try ServerAddress(text) }
    }
}
