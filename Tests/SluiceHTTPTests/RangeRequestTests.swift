import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `The validator of a response` {
    private static let now = HTTPDate(secondsSince1970: 1_795_000_000)
    private static let day = "Sat, 21 Nov 2026 "

    @Test(arguments: [
        ("\"v1\"", true), ("\"\"", true), ("\"W/x\"", true), ("\"a,b\"", true), (" \"v1\" ", true), ("\"é\"", true),
        ("\"\u{301}\"", true),
        ("W/\"v1\"", false), ("w/\"v1\"", false), ("v1", false), ("\"v1", false), ("v1\"", false), ("\"", false),
        ("", false), ("\"a\", \"b\"", false), ("\"a\"b\"", false), ("\"a b\"", false), ("'v1'", false),
    ])
    func `is its entity tag, if that is strong and well-formed`(field: String, isStrong: Bool) {
        // There is also a valid date, which must not replace the tag.
        var fields: HTTPFields = [.lastModified: Self.day + "10:00:00 GMT", .date: Self.day + "12:00:00 GMT"]
        fields[.eTag] = field
        let validator = Validator(fields, now: Self.now)
        #expect(validator == (isStrong ? .entityTag(field.trimmingSpaces()) : nil))
        #expect(validator?.field == (isStrong ? field.trimmingSpaces() : nil))
    }

    @Test func `is nil if two entity tags were sent`() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .eTag, value: "\"a\""))
        fields.append(HTTPField(name: .eTag, value: "\"a\""))
        #expect(Validator(fields, now: Self.now) == nil)
    }

    @Test(
        arguments: [
            ("10:00:00", "12:00:00", true), ("11:59:00", "12:00:00", true),  // exactly 60 s
            ("11:59:01", "12:00:00", false), ("12:00:00", "12:00:00", false), ("13:00:00", "12:00:00", false),
            ("10:00:00", nil, false), (nil, "12:00:00", false), ("25:00:00", "12:00:00", false),
            ("10:00:00", "x", false),
        ] as [(String?, String?, Bool)])
    func `is Last-Modified if it's at least 60 seconds before Date`(modified: String?, date: String?, isStrong: Bool) {
        var fields = HTTPFields()
        fields[.lastModified] = modified.map { Self.day + $0 + " GMT" }
        fields[.date] = date.map { Self.day + $0 + " GMT" }
        let expected = isStrong ? modified.map { Validator.lastModified(Self.day + $0 + " GMT") } : nil
        #expect(Validator(fields, now: Self.now) == expected)
    }

    @Test(
        arguments: [
            (Validator.entityTag("\"a\""), HTTPField.Name.eTag, "\"a\"", false),
            (.entityTag("\"a\""), .eTag, "\"b\"", true), (.entityTag("\"a\""), .eTag, "W/\"a\"", true),
            (.entityTag("\"a\""), .eTag, "\"A\"", true), (.entityTag("\"a\""), .lastModified, "x", false),
            (.lastModified("x"), .lastModified, "x", false), (.lastModified("x"), .lastModified, "y", true),
            (.lastModified("x"), .eTag, "\"a\"", false),
        ] as [(Validator, HTTPField.Name, String, Bool)])
    func `is contradicted only by a different validator of the same kind`(
        validator: Validator, name: HTTPField.Name, value: String, isContradicted: Bool
    ) {
        #expect(validator.isContradicted(by: HTTPFields([HTTPField(name: name, value: value)])) == isContradicted)
        #expect(!validator.isContradicted(by: [:]))
    }
}

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
    func `is parsed as a range or a length`(field: String, expected: ContentRange) {
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
    func `that is malformed or contradicts itself is ignored`(field: String) {
        #expect(ContentRange(field) == nil)
    }
}
