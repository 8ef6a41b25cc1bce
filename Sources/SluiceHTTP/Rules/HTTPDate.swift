/// A date in HTTP's format (RFC 9110, section 5.6.7). The initializer parses the three formats that a recipient must accept: IMF-fixdate,
/// the obsolete RFC 850 format, and asctime.
///
///     HTTPDate(parsing: "Sun, 06 Nov 1994 08:49:37 GMT", now: now)?.secondsSince1970   // 784111777
package struct HTTPDate: Sendable, Hashable, CustomStringConvertible {
    /// The seconds since the start of 1970 in UTC, without leap seconds.
    package var secondsSince1970: Int64

    /// The times from 1970 to the end of the year 9999, which can be sent.
    package static let seconds: ClosedRange<Int64> = 0...253_402_300_799

    package init(secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// Parses `text`, or returns `nil`. `now` determines the century of the two-digit year in an RFC 850 date: the date is never more
    /// than 50 years after `now`.
    ///
    /// Case doesn't matter (RFC 9111, section 4.2). Everything else must match the grammar, because a cache must treat a malformed
    /// `Expires` as a time in the past (section 5.3). The weekday isn't checked against the date.
    package init?(parsing text: some StringProtocol, now: HTTPDate) {
        var text = Array(text.trimmingSpaces().utf8)
        for index in text.indices { text[index] = Self.lowercased(text[index]) }
        // d: a digit, _: a digit or a space, a: a letter
        let fields: (day: Range<Int>, month: Range<Int>, year: Range<Int>, time: Int)
        var isFullYear = true
        if Self.matches(text[...], "aaa, dd aaa dddd dd:dd:dd gmt"), Self.isWeekday(text[0..<3]) {
            fields = (5..<7, 8..<11, 12..<16, 17)
        } else if Self.matches(text[...], "aaa aaa _d dd:dd:dd dddd"), Self.isWeekday(text[0..<3]) {
            fields = (8..<10, 4..<7, 20..<24, 11)
        } else if let comma = text.firstIndex(of: UInt8(ascii: ",")), Self.isLongWeekday(text[..<comma]),
            Self.matches(text[comma...], ", dd-aaa-dd dd:dd:dd gmt")
        {
            fields = (comma + 2..<comma + 4, comma + 5..<comma + 8, comma + 9..<comma + 11, comma + 12)
            isFullYear = false
        } else {
            return nil
        }
        func number(_ range: Range<Int>) -> Int {
            text[range].reduce(0) { $1 == UInt8(ascii: " ") ? $0 : $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        let (day, time) = (number(fields.day), fields.time)
        let (hour, minute, second) = (number(time..<time + 2), number(time + 3..<time + 5), number(time + 6..<time + 8))
        var year = number(fields.year)
        if !isFullYear {
            let latestYear = Self.date(ofDay: now.dayAndSecond.day).year + 50
            year = latestYear - (latestYear - year) % 100
        }
        // 60 is a leap second.
        guard hour < 24, minute < 60, second <= 60,
            let month = Self.packedMonths.firstIndex(of: Self.packed(text[fields.month]))
        else { return nil }
        let days = Self.daysSince1970(year: year, month: month + 1, day: day)
        guard Self.date(ofDay: days) == (year, month + 1, day) else { return nil }
        secondsSince1970 = Int64(days) * 86_400 + Int64((hour * 60 + minute) * 60 + second)
    }

    /// The date as IMF-fixdate, the format to send. The year must be at most 9999.
    package var description: String {
        let (days, seconds) = dayAndSecond
        let (year, month, day) = Self.date(ofDay: days)
        func digits(_ number: Int, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let weekday = Self.weekdays[((days + 4) % 7 + 7) % 7].prefix(3)
        let time = "\(digits(seconds / 3600)):\(digits(seconds / 60 % 60)):\(digits(seconds % 60))"
        return "\(weekday), \(digits(day)) \(Self.months[month - 1]) \(digits(year, 4)) \(time) GMT"
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    private static let packedMonths = months.map { packed($0.utf8) }
    private static let packedWeekdays = weekdays.map { packed($0.utf8.prefix(3)) }

    /// A name of three letters, of either case, as a number: dates are parsed several times for each response.
    private static func packed(_ name: some Sequence<UInt8>) -> UInt32 {
        name.reduce(0) { $0 << 8 | UInt32(lowercased($1)) }
    }

    private static func isWeekday(_ text: ArraySlice<UInt8>) -> Bool { packedWeekdays.contains(packed(text)) }

    private static func isLongWeekday(_ text: ArraySlice<UInt8>) -> Bool {
        weekdays.contains { $0.utf8.elementsEqual(text) { lowercased($0) == $1 } }
    }

    /// Only ASCII has two cases in HTTP.
    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func matches(_ text: ArraySlice<UInt8>, _ pattern: StaticString) -> Bool {
        guard text.count == pattern.utf8CodeUnitCount else { return false }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return pattern.withUTF8Buffer { pattern in
            zip(text, pattern).allSatisfy { byte, expected in
                switch expected {
                case UInt8(ascii: "d"): digits.contains(byte)
                case UInt8(ascii: "_"): byte == UInt8(ascii: " ") || digits.contains(byte)
                case UInt8(ascii: "a"): (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                default: byte == expected
                }
            }
        }
    }

    // MARK: The calendar

    /// The number of days since 1970-01-01, and the second within the day.
    private var dayAndSecond: (day: Int, second: Int) {
        let (day, second) = secondsSince1970.quotientAndRemainder(dividingBy: 86_400)
        return second < 0 ? (Int(day) - 1, Int(second) + 86_400) : (Int(day), Int(second))
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

    /// Returns the date of a day since 1970-01-01 (the same source, `civil_from_days`).
    private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
        let day = day + 719_468
        let era = (day >= 0 ? day : day - 146_096) / 146_097
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let civilMonth = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}
