import Testing

@testable import SluiceHTTP

@Suite struct `The field Content-Range` {
    @Test(arguments: [
        ("bytes 0-0/1", ContentRange.part(first: 0, last: 0, total: 1)),
        ("bytes 500-999/1000", .part(first: 500, last: 999, total: 1000)),
        ("bytes 500-999/*", .part(first: 500, last: 999, total: nil)),
        ("Bytes 1-2/3", .part(first: 1, last: 2, total: 3)),
        (" bytes 1-2/3\t", .part(first: 1, last: 2, total: 3)),
        ("bytes */0", .unsatisfied(total: 0)),
        ("bytes */1234", .unsatisfied(total: 1234)),
        ("bytes 0-9223372036854775806/*", .part(first: 0, last: .max - 1, total: nil)),
    ])
    func `names bytes or a length`(field: String, expected: ContentRange) {
        #expect(ContentRange(field) == expected)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 1-2", "bytes 1-2/", "bytes -2/3", "bytes 1-/3", "bytes 2-1/3", "bytes 1-2/2",
        "bytes 1-2/1", "bytes */*", "bytes */", "bytes=1-2/3", "bytes  1-2/3", "bytes 1 - 2 / 3", "items 1-2/3",
        "bytes 1-2/3, bytes 1-2/3", "bytes +1-2/3", "bytes 1-2/-3", "bytes a-b/c", "bytes 1-2/3/4", "bytes 1-2-3/4",
        "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 0-1/9223372036854775808",
        "bytes 0x1-2/3",
        "bytes １-2/3",
    ])
    func `that is malformed or contradicts itself counts for nothing`(field: String) {
        #expect(ContentRange(field) == nil)
    }
}
