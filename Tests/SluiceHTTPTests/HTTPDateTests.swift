import SluiceHTTP
import Testing

@Suite struct `HTTP dates` {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private let now = HTTPDate(secondsSince1970: 784_111_777)

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("  Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
            // Case doesn't matter (RFC 9111, section 4.2).
            ("SUN, 06 nov 1994 08:49:37 gmt", 784_111_777),
            // A two-digit year is at most 50 years after now.
            ("Thursday, 01-Jan-70 00:00:00 GMT", 0), ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
            ("Friday, 01-Jan-44 00:00:00 GMT", 2_335_219_200), ("Monday, 01-Jan-45 00:00:00 GMT", -788_918_400),
        ])
    func `are parsed in all three formats`(text: String, seconds: Int64) {
        #expect(HTTPDate(parsing: text, now: now)?.secondsSince1970 == seconds)
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Now 1994 08:49:37 GMT", "06 Nov 1994", "", "0", "-1", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT", "Wed, 31 Apr 2024 00:00:00 GMT", "Sun Nov 6 08:49:37 1994",
    ])
    func `are rejected in any other format`(text: String) {
        #expect(HTTPDate(parsing: text, now: now) == nil)
    }

    @Test(arguments: [784_111_777, 0, -1, 951_868_799, 4_102_444_800, -2_208_988_800, 253_402_300_799])
    func `survive formatting and parsing`(seconds: Int64) {
        let date = HTTPDate(secondsSince1970: seconds)
        #expect(HTTPDate(parsing: date.description, now: now) == date)
    }

    @Test(arguments: [
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200), ("Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_800),
        ("Tue, 29 Feb 0000 00:00:00 GMT", -62_162_121_600),
    ])
    func `are parsed in every four-digit year`(text: String, seconds: Int64) {
        #expect(HTTPDate(parsing: text, now: now)?.secondsSince1970 == seconds)
    }

    @Test(arguments: [Int64.min, Int64.min + 1, Int64.max, -62_167_219_201, 253_402_300_800])
    func `in other years can be formatted and used as the current date`(seconds: Int64) {
        let date = HTTPDate(secondsSince1970: seconds)
        #expect(date.description.hasSuffix(" GMT"))
        #expect(HTTPDate(parsing: "Sunday, 06-Nov-94 08:49:37 GMT", now: date) != nil)
    }

    @Test func `are written as IMF-fixdate`() {
        #expect(now.description == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate(secondsSince1970: -1).description == "Wed, 31 Dec 1969 23:59:59 GMT")
    }
}
