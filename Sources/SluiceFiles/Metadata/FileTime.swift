internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A point in time with the nanosecond precision of file systems. The conversion to a `Date` rounds to about 100 nanoseconds.
///
///     let status = try await files.status(of: original)!
///     try await files.setTimes(of: copy, modification: status.modificationTime)   // exactly equal
///
/// The precision depends on the file system: nanoseconds on ext4, XFS, Btrfs and APFS, a second on HFS+, two seconds on FAT.
public struct FileTime: Sendable, Hashable {
    /// The number of whole seconds since 1970-01-01 00:00 UTC. Negative before that.
    public let seconds: Int64

    /// The number of nanoseconds after ``seconds``, from 0 to 999,999,999. Also counts forward for times before 1970.
    public let nanoseconds: Int

    /// Creates a time from its two parts.
    ///
    /// - Precondition: `nanoseconds` is from 0 to 999,999,999. Check a number from a file or an archive before you pass it.
    public init(seconds: Int64, nanoseconds: Int = 0) {
        precondition(
            (0..<1_000_000_000).contains(nanoseconds),
            "A FileTime's nanoseconds must be from 0 to 999,999,999; they are \(nanoseconds).")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Creates a time from a date. A date outside the range becomes the earliest or latest time.
    public init(_ date: Date) {
        // Starts from the date's internal value, which counts from 2001: adding the years since 1970 first would round it.
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

    /// 1970-01-01 00:00 UTC.
    public static let epoch = FileTime(seconds: 0)

    /// The current time of the system's clock.
    public static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int(time.tv_nsec))
    }

    /// The time as a `Date`, rounded to about 100 nanoseconds.
    public var date: Date {
        Date(timeIntervalSinceReferenceDate: (Double(seconds) - Double(Self.referenceDate)) + Double(nanoseconds) / 1e9)
    }

    private static var referenceDate: Int64 { 978_307_200 }
}

extension FileTime: Comparable {
    /// Whether the first time is earlier than the second.
    public static func < (first: FileTime, second: FileTime) -> Bool {
        (first.seconds, first.nanoseconds) < (second.seconds, second.nanoseconds)
    }
}
