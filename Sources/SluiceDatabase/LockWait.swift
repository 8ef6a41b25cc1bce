package import GRDB

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Waits for another process's lock. SQLite doesn't queue waiting processes; each one polls.
///
/// The pauses of `sqlite3_busy_timeout` grow to 100 ms. If several processes write all the time, the lock is rarely free at the moment of a
/// poll, and a process can wait for many seconds although the lock was free a thousand times. Our pauses stay as short as a transaction.
/// They are random, so that two processes don't poll in lockstep with a third one that writes.
package enum LockWait {
    /// The operation fails once the mean pauses add up to this.
    package static let limit: Duration = .seconds(10)

    package static var busyMode: Database.BusyMode {
        .callback { tries in
            guard tries < maximumCount else { return false }
            usleep(UInt32(Double(meanPause(tries)) * Double.random(in: 0.5...1.5)))
            return true
        }
    }

    /// The mean pause after `tries` earlier ones, in microseconds.
    static func meanPause(_ tries: Int) -> Int { min(1000 + 100 * tries, 8000) }

    /// The number of pauses whose means add up to ``limit``.
    static let maximumCount: Int = {
        var (left, count) = (Int(limit / .microseconds(1)), 0)
        while left > 0 {
            left -= meanPause(count)
            count += 1
        }
        return count
    }()
}
