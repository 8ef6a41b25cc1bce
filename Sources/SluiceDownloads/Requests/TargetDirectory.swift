import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The directory of requests with its path, which is computed once for all requests that share it: reading a part of a URL takes
/// microseconds.
final class TargetDirectory: Sendable {
    let url: URL
    /// With a slash at the end.
    private let path: [UInt8]

    private init(_ url: URL) {
        self.url = url
        let path = url.path(percentEncoded: true)
        var bytes = path.percentDecodedBytes ?? Array(path.utf8)
        if bytes.last != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        self.path = bytes
    }

    /// The last requested directory. Most lists have only one.
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

/// A path as bytes. `String` treats both encodings of é as equal, and Linux doesn't. `String` can't hold names that aren't valid UTF-8
/// either, and URLs can.
package struct TargetPath: Hashable {
    package let bytes: [UInt8]

    // Hashes all bytes: `Data` hashes only its first 80, and the paths of a list have the same beginning.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}
