import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A folder that requests share, and its path: found out once, where each of a URL's parts costs microseconds.
final class Folder: Sendable {
    let url: URL
    /// The path with a slash at its end, as the system gets it.
    let bytes: [UInt8]

    private init(_ url: URL) {
        self.url = url
        let path = url.path(percentEncoded: true)
        var bytes = path.percentDecodedBytes ?? Array(path.utf8)
        if bytes.last != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        self.bytes = bytes
    }

    /// The folder of the request that was made last.
    private static let latest = Lock<Folder?>(nil)

    static func of(_ url: URL) -> Folder {
        if let known = latest.withLock({ $0 }), known.url == url { return known }
        let folder = Folder(url)
        latest.withLock { $0 = folder }
        return folder
    }
}

extension Folder: Hashable {
    static func == (one: Folder, other: Folder) -> Bool { one === other || one.url == other.url }

    func hash(into hasher: inout Hasher) { hasher.combine(url) }
}
