import Foundation
import SluiceFiles
import SluiceHTTP
import Testing

@testable import SluiceDownloads

@Suite struct `A checkpoint` {
    private static let file = FileIdentity(device: 1, inode: 2)

    private func checkpoint(
        total: Int64? = 1000, synced: Int64 = 300, isDurable: Bool = true, boot: String? = "b"
    ) -> Checkpoint {
        Checkpoint(
            url: "u", validator: .init(.entityTag("\"v\"")), total: total, synced: synced, isDurable: isDurable,
            boot: boot, file: Self.file)
    }

    @Test func `survives writing and reading`() {
        let all = [checkpoint(), checkpoint(total: nil, boot: nil)]
        for one in all { #expect(Checkpoint(one.data) == one) }
    }

    @Test(
        arguments: [
            ("b", "b", 500, 500),  // same boot: all bytes
            // Different or unknown boots: the bytes that were on the disk.
            ("b", "c", 500, 300), ("b", nil, 500, 300), (nil, nil, 500, 300), (nil, "b", 500, 300),
            ("b", "c", 200, 200),  // the disk lost more
            ("b", "b", 1001, 0),  // more than the file has
            ("b", "b", 1000, 1000), ("b", "b", 0, 0),
        ] as [(String?, String?, Int64, Int64)])
    func `is trusted for the bytes that survived`(written: String?, read: String?, size: Int64, trusted: Int64) {
        #expect(checkpoint(boot: written).trustedBytes(size: size, file: Self.file, boot: read) == trusted)
    }

    @Test(arguments: [FileIdentity(device: 1, inode: 3), FileIdentity(device: 2, inode: 2)])
    func `isn't trusted for another file`(other: FileIdentity) {
        #expect(checkpoint().trustedBytes(size: 500, file: other, boot: "b") == 0)
        #expect(!checkpoint().isPublished(as: other, size: 1000, boot: "b"))
    }

    @Test(
        arguments: [
            (1000, 1000, true, "c", true), (1000, 1000, false, "c", false), (1000, 1000, false, "b", true),
            (1000, 999, true, "b", false), (nil, 1000, true, "b", false),
        ] as [(Int64?, Int64, Bool, String, Bool)])
    func `recognizes its published file only if the file is complete`(
        total: Int64?, size: Int64, isDurable: Bool, boot: String, expected: Bool
    ) {
        let one = checkpoint(total: total, isDurable: isDurable)
        #expect(one.isPublished(as: Self.file, size: size, boot: boot) == expected)
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", "\u{0}\u{0}", #"{"version":1}"#,
    ]) func `that is malformed isn't read`(text: String) {
        #expect(Checkpoint(Data(text.utf8)) == nil)
    }

    @Test func `of segments has a version of its own, and doesn't vouch for the length of the file`() throws {
        var segmented = checkpoint()
        segmented.segments = [[0, 500, 200, 100], [500, 1000, 500, 500]]
        #expect(segmented.version == 2 && Checkpoint(segmented.data) == segmented)
        #expect(segmented.trustedBytes(size: 1000, file: Self.file, boot: "b") == 0)
        #expect(segmented.trustedSegments(file: Self.file, boot: "b")?.writtenBytes == 200)
        #expect(segmented.trustedSegments(file: Self.file, boot: "c")?.writtenBytes == 100)
        #expect(segmented.trustedSegments(file: FileIdentity(device: 1, inode: 3), boot: "b") == nil)
        // Older programs ignore version 2, and would misread this one.
        segmented.version = 1
        #expect(Checkpoint(segmented.data) == nil)
    }

    @Test func `that is truncated, of another version or negative isn't read`() {
        let whole = checkpoint().data
        for length in 0..<whole.count { #expect(Checkpoint(whole.prefix(length)) == nil) }
        var other = checkpoint()
        other.version = 2
        #expect(Checkpoint(other.data) == nil)
        #expect(Checkpoint(checkpoint(synced: -1).data) == nil)
        #expect(Checkpoint(checkpoint(total: -1).data) == nil)
    }

    @Test(arguments: ["a\r\nX: y", "\"a\"\n", "W/\"a\"", ""])
    func `has no validator if its text isn't allowed in a header field`(field: String) {
        var one = checkpoint()
        one.validator?.field = field
        #expect(one.validator?.validator == nil)
    }

    @Test(arguments: [
        "https://a.example/b", "https://a.example", "http://a.example:80/b", "http://a.example:8080/b?",
        "http://[::1]:99/b", "http://a.example/b%20c%2f?d=e&f", "HTTP://A.Example/B", "http://bücher.example/ü",
        "http://a.example//b/../c;d=1", "sluice-id://a.example/17",
    ]) func `the digest of a URL ignores the fragment`(text: String) throws {
        // Only a URL with a fragment is taken apart.
        let (plain, other) = (try #require(URL(string: text)), try #require(URL(string: text + "#part")))
        #expect(Checkpoint.digest(of: plain) == Checkpoint.digest(of: other))
    }

    @Test func `stores no secret of its URL and still distinguishes URLs`() throws {
        let plain = try #require(URL(string: "https://a.example/x?token=hunter2"))
        let withUser = try #require(URL(string: "https://me:hunter2@a.example/x?token=hunter2#part"))
        let other = try #require(URL(string: "https://a.example/x?token=hunter3"))
        #expect(Checkpoint.digest(of: plain) == Checkpoint.digest(of: withUser))
        #expect(Checkpoint.digest(of: plain) != Checkpoint.digest(of: other))
        var one = checkpoint()
        one.url = Checkpoint.digest(of: withUser)
        #expect(!String(decoding: one.data, as: UTF8.self).contains("hunter"))
    }
}
