#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The descriptors 0, 1 and 2 of a process.
package enum StandardStreams {
    /// Opens the null device on each standard stream that the parent process closed.
    ///
    /// Otherwise the next file or socket would get its number (open(2)), and messages would end up in a download.
    /// Reading from a closed input and writing to a closed output fail, as they would without this. Messages to a closed error
    /// stream vanish: closing it asks for that.
    ///
    /// - Returns: Whether all three are open now.
    package static func openClosed() -> Bool {
        for (descriptor, direction) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)] as [(Int32, Int32)] {
            guard fcntl(descriptor, F_GETFD) < 0 else { continue }
            // The lowest free number: the ones below it are open.
            guard openat(AT_FDCWD, "/dev/null", direction) == descriptor else { return false }
        }
        return true
    }
}
