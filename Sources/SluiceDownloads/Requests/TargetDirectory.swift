import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The directory of requests, and its path: found once for all that share it, since each part of a URL takes microseconds.
final class TargetDirectory: Sendable {
    let url: URL
    /// The path's bytes, with a slash at their end.
    private let path: [UInt8]

    private init(_ url: URL) {
        self.url = url
        let path = url.path(percentEncoded: true)
        var bytes = path.percentDecodedBytes ?? Array(path.utf8)
        if bytes.last != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        self.path = bytes
    }

    /// The directory that was asked for last: most lists have one.
    private static let latest = Lock<TargetDirectory?>(nil)

    static func of(_ url: URL) -> TargetDirectory {
        if let known = latest.withLock({ $0 }), known.url == url { return known }
        let directory = TargetDirectory(url)
        latest.withLock { $0 = directory }
        return directory
    }

    func path(of name: String) -> TargetPath {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(path.count + name.utf8.count)
        append(pathOf: name, to: &bytes)
        return TargetPath(bytes: bytes)
    }

    func append(pathOf name: String, to bytes: inout [UInt8]) {
        var name = name
        bytes += path
        name.withUTF8 { bytes += $0 }
    }
}

extension TargetDirectory: Hashable {
    static func == (one: TargetDirectory, other: TargetDirectory) -> Bool { one === other || one.url == other.url }

    func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

/// A path by its bytes: String takes one spelling of é for the other, and Linux does not. Nor can String hold names that are no UTF-8,
/// which URLs can.
struct TargetPath: Hashable {
    let bytes: [UInt8]

    // All of them: `Data` hashes its first 80 bytes, and paths of one list begin alike.
    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}
