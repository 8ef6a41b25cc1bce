#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum StandardStreams {
    /// Opens the null device on each standard stream that the parent process closed. Returns whether all three streams are open.
    ///
    /// Otherwise the next file or socket would get its number (open(2)), and messages could be written into a download. The null device is
    /// opened in the wrong direction, so that reading from closed input and writing to closed output still fail. Messages to a closed error
    /// stream are discarded.
    package static func openClosed() -> Bool {
        for (descriptor, direction) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)] as [(Int32, Int32)] {
            guard fcntl(descriptor, F_GETFD) < 0 else { continue }
            // The system chooses the lowest free number, which is this one: those below it are open.
            guard openat(AT_FDCWD, "/dev/null", direction) == descriptor else { return false }
        }
        return true
    }
}
