#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
internal import CSluiceFiles

/// A point in time as file systems keep it: to the nanosecond, which a `Date` of these days rounds to about 100.
///
///     let status = try await files.status(of: original)!
///     try await files.setTimes(of: copy, modification: status.modificationTime)   // equal, not nearly
///     print(status.modificationTime.date)
///
/// File systems keep what they have room for: ext4, XFS, Btrfs and APFS nanoseconds, HFS+ seconds, FAT two seconds.
public struct FileTime: Sendable, Hashable {
    /// The whole seconds since the beginning of 1970 (UTC), below 0 before that.
    public let seconds: Int64

    /// The nanoseconds since that second, from 0 to 999,999,999; they count upwards also before 1970.
    public let nanoseconds: Int

    /// Makes a time from the two parts.
    public init(seconds: Int64, nanoseconds: Int = 0) {
        precondition((0..<1_000_000_000).contains(nanoseconds), "A second has 1,000,000,000 nanoseconds, from 0.")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Makes a time from a date. One past the ends of time is the end.
    public init(_ date: Date) {
        // Of the date's own number, which counts from 2001: adding the years since 1970 first would round.
        let interval = date.timeIntervalSinceReferenceDate
        let whole = interval.rounded(.down)
        if let seconds = Int64(exactly: whole),
            case (let sum, false) = seconds.addingReportingOverflow(Self.referenceDate)
        {
            self.init(seconds: sum, nanoseconds: min(Int((interval - whole) * 1e9), 999_999_999))
        } else {
            self.init(seconds: whole < 0 ? .min : .max)
        }
    }

    /// The beginning of 1970 (UTC).
    public static let epoch = FileTime(seconds: 0)

    /// The time of the system's clock.
    public static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int(time.tv_nsec))
    }

    /// The same time as a `Date`, rounded to what that can hold: about 100 nanoseconds.
    public var date: Date {
        Date(timeIntervalSinceReferenceDate: (Double(seconds) - Double(Self.referenceDate)) + Double(nanoseconds) / 1e9)
    }

    /// The beginning of 2001, from which a `Date` counts.
    private static var referenceDate: Int64 { 978_307_200 }
}

extension FileTime: Comparable {
    /// Whether the first is earlier.
    public static func < (first: FileTime, second: FileTime) -> Bool {
        (first.seconds, first.nanoseconds) < (second.seconds, second.nanoseconds)
    }
}
