import HTTPTypes
import SluiceHTTP
import Testing

/// Sun, 06 Nov 1994 08:49:37 GMT: when the response of each row arrived.
private let arrival: Int64 = 784_111_777

private func fields(_ lines: [String]) -> HTTPFields {
    var fields: HTTPFields = [:]
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingPrefix(" ") }
        fields.append(
            HTTPField(name: HTTPField.Name(String(parts[0]))!, value: parts.count > 1 ? String(parts[1]) : ""))
    }
    return fields
}

@Suite struct `Freshness of responses` {
    struct Row: Sendable, CustomTestStringConvertible {
        var lines: [String]
        /// The seconds after its arrival at which it is no longer fresh; nil if it never is.
        var freshFor: Int64?
        /// How long the response took.
        var delay: Int64 = 0
        var testDescription: String { "\(lines)" }
    }

    @Test(arguments: [
        Row(lines: [], freshFor: nil),
        // max-age
        Row(lines: ["Cache-Control: max-age=60"], freshFor: 60),
        Row(lines: ["Cache-Control: MAX-AGE=60"], freshFor: 60),
        Row(lines: ["Cache-Control: public , max-age=60 ,, x=\"a,max-age=5\""], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=\"60\""], freshFor: 60),
        Row(lines: ["Cache-Control: private", "Cache-Control: max-age=60"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=60, max-age=60"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=60, must-revalidate"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=60, s-maxage=5"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=99999999999999999999"], freshFor: 1 << 31),
        // Nonsense is stale.
        Row(lines: ["Cache-Control: max-age=0"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=-1"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=1.5"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=60, max-age=30"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=x", "Expires: Sun, 06 Nov 1994 09:49:37 GMT"], freshFor: nil),
        // no-cache
        Row(lines: ["Cache-Control: max-age=60, no-cache"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=60, no-cache=\"X, Y\""], freshFor: nil),
        // Age, Date and the time that the response took
        Row(lines: ["Cache-Control: max-age=60", "Age: 20"], freshFor: 40),
        Row(lines: ["Cache-Control: max-age=60", "Age: 20, 50"], freshFor: 40),
        Row(lines: ["Cache-Control: max-age=60", "Age: -20"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=60", "Age: 60"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=60", "Age: 99999999999999999999"], freshFor: nil),
        Row(lines: ["Cache-Control: max-age=60", "Date: Sun, 06 Nov 1994 08:49:07 GMT"], freshFor: 30),
        Row(lines: ["Cache-Control: max-age=60", "Date: Sun, 06 Nov 1994 08:59:37 GMT"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=60", "Date: yesterday"], freshFor: 60),
        Row(lines: ["Cache-Control: max-age=60"], freshFor: 55, delay: 5),
        Row(lines: ["Cache-Control: max-age=60", "Age: 20"], freshFor: 35, delay: 5),
        Row(
            lines: ["Cache-Control: max-age=60", "Date: Sun, 06 Nov 1994 08:49:07 GMT", "Age: 20"], freshFor: 30,
            delay: 5),
        // Expires
        Row(lines: ["Expires: Sun, 06 Nov 1994 08:50:37 GMT"], freshFor: 60),
        Row(
            lines: ["Expires: Sun, 06 Nov 1994 08:50:37 GMT", "Date: Sun, 06 Nov 1994 08:49:07 GMT"], freshFor: 60),
        Row(lines: ["Expires: Sun, 06 Nov 1994 08:50:37 GMT", "Cache-Control: max-age=5"], freshFor: 5),
        Row(lines: ["Expires: 0"], freshFor: nil),
        Row(lines: ["Expires: Sun, 06 Nov 1994 08:00:00 GMT"], freshFor: nil),
        Row(lines: ["Expires: 0", "Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT"], freshFor: nil),
        // A tenth of the time since it changed, a day at most
        Row(lines: ["Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT"], freshFor: 360),
        Row(
            lines: ["Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:07 GMT"],
            freshFor: 327),
        Row(lines: ["Last-Modified: Sun, 06 Nov 1983 08:49:37 GMT"], freshFor: 86_400),
        Row(lines: ["Last-Modified: Sun, 06 Nov 2050 08:49:37 GMT"], freshFor: nil),
        Row(lines: ["Last-Modified: never"], freshFor: nil),
    ])
    func `lasts as RFC 9111 says`(row: Row) {
        let freshness = Freshness(
            fields: fields(row.lines), requested: HTTPDate(secondsSince1970: arrival - row.delay),
            received: HTTPDate(secondsSince1970: arrival))
        func isFresh(after seconds: Int64) -> Bool {
            freshness.isFresh(at: HTTPDate(secondsSince1970: arrival + seconds))
        }
        #expect(isFresh(after: 0) == (row.freshFor != nil))
        if let freshFor = row.freshFor {
            #expect(isFresh(after: freshFor - 1))
            #expect(!isFresh(after: freshFor))
        }
        #expect(!isFresh(after: -1), "a clock that went back")
    }

    @Test(arguments: [
        (200, ["ETag: \"a\""], true), (203, [], true), (206, [], false), (204, [], false), (301, [], false),
        (404, [], false), (200, ["Cache-Control: private"], true), (200, ["Cache-Control: no-cache"], true),
        (200, ["Cache-Control: max-age=60, No-Store"], false), (200, ["Cache-Control: x=\"no-store\""], true),
        (200, ["Vary: Accept-Encoding"], true), (200, ["Vary: accept-encoding, , Accept-Encoding"], true),
        (200, ["Vary: Accept-Encoding, Accept"], false), (200, ["Vary: *"], false), (200, ["Set-Cookie: a=b"], false),
        (200, ["Content-Range: bytes 0-1/2"], false),
    ])
    func `what may be stored`(status: Int, lines: [String], expected: Bool) {
        #expect(Freshness.mayStore(status: .init(code: status), fields: fields(lines)) == expected)
    }

    @Test(arguments: [
        (["ETag: \"a\""], ["if-none-match: \"a\""]),
        (["ETag: W/\"a\""], ["if-none-match: W/\"a\""]),
        (["ETag: a"], []), (["ETag: \"a\"b\""], []), (["ETag: "], []),
        (["Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT"], ["if-modified-since: Sun, 06 Nov 1994 07:49:37 GMT"]),
        (["Last-Modified: yesterday"], []), (["Date: Sun, 06 Nov 1994 07:49:37 GMT"], []),
        (
            ["ETag: \"a\"", "Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT"],
            ["if-modified-since: Sun, 06 Nov 1994 07:49:37 GMT", "if-none-match: \"a\""]
        ),
    ])
    func `conditions name what identifies the stored response`(lines: [String], expected: [String]) {
        let conditions = Freshness.conditions(for: fields(lines)) ?? [:]
        #expect(conditions.map { "\($0.name.canonicalName): \($0.value)" }.sorted() == expected)
    }

    @Test func `a confirmation replaces fields, and its absence of an age counts`() throws {
        let stored = fields([
            "ETag: \"a\"", "Age: 50", "Date: Sun, 06 Nov 1994 07:49:37 GMT", "Cache-Control: max-age=60",
            "Content-Length: 5", "X: old", "X: older", "Y: kept",
        ])
        let updated = try #require(
            Freshness.updated(
                stored,
                by: fields([
                    "ETag: W/\"a\"", "Cache-Control: max-age=5", "Content-Length: 0", "X: new", "Set-Cookie: a=b",
                    "Connection: close",
                ])))
        #expect(updated[.age] == nil && updated[.date] == nil && updated[.setCookie] == nil)
        #expect(updated[.cacheControl] == "max-age=5" && updated[.contentLength] == "5" && updated[.connection] == nil)
        #expect(updated[values: HTTPField.Name("X")!] == ["new"] && updated[HTTPField.Name("Y")!] == "kept")
        #expect(Freshness.updated(stored, by: fields(["ETag: \"b\""])) == nil)
        #expect(Freshness.updated(stored, by: [:]) != nil)
    }

    @Test func `fields about the connection are not stored`() {
        let stored = Freshness.stored(
            fields(["Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 5", "X: 2", "Content-Length: 7"]))
        #expect(stored.map(\.name.canonicalName) == ["x", "content-length"])
    }
}
