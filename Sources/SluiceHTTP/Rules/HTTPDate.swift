/// A date in HTTP's format (RFC 9110, section 5.6.7). The initializer parses the three formats that a recipient must accept: IMF-fixdate,
/// the obsolete RFC 850 format, and asctime.
///
///     HTTPDate(parsing: "Sun, 06 Nov 1994 08:49:37 GMT", now: now)?.secondsSince1970   // 784111777
package struct HTTPDate: Sendable, Hashable {
    /// The seconds since the start of 1970 in UTC, without leap seconds.
    package var secondsSince1970: Int64

    package init(secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// Parses `text`, or returns `nil`. `now` determines the century of the two-digit year in an RFC 850 date: the date is never more
    /// than 50 years after `now`.
    package init?(parsing text: some StringProtocol, now: HTTPDate) {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "," }).map { String($0) }
        let fields: (day: String, month: String, year: String, time: String)
        switch words.count {
        case 6 where words[5] == "GMT":  // Sun, 06 Nov 1994 08:49:37 GMT
            fields = (words[1], words[2], words[3], words[4])
        case 4 where words[3] == "GMT":  // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-").map { String($0) }
            guard date.count == 3 else { return nil }
            fields = (date[0], date[1], date[2], words[2])
        case 5:  // Sun Nov  6 08:49:37 1994
            fields = (words[2], words[1], words[4], words[3])
        default:
            return nil
        }
        let clock = fields.time.split(separator: ":", omittingEmptySubsequences: false).map(Self.number)
        guard let day = Self.number(fields.day), (1...31).contains(day),
            let month = Self.months.firstIndex(of: fields.month),
            var year = Self.number(fields.year), (0...9999).contains(year),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        if fields.year.utf8.count == 2 {
            // 31,556,952 s is the mean Gregorian year, which is exact enough to find the century.
            let currentYear = 1970 + Int(now.secondsSince1970 / 31_556_952)
            year += currentYear / 100 * 100
            if year > currentYear + 50 { year -= 100 }
        }
        let days = Self.daysSince1970(year: year, month: month + 1, day: day)
        secondsSince1970 = Int64(days) * 86_400 + Int64((hour * 60 + minute) * 60 + second)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ digits: some StringProtocol) -> Int? {
        digits.utf8.count <= 4 && digits.isDigits ? Int(digits) : nil
    }

    /// Returns the days since 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date
    /// Algorithms", `days_from_civil`).
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
