import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A directory and its path. All requests with the same directory share one, because reading a part of a URL takes microseconds.
///
/// An absolute directory has a file URL. A relative one has a relative reference (RFC 3986, section 4.2): `playlists/7/`, or `./` for the
/// coordinator's directory itself. Stores keep the text of the URL, which shows what kind of directory it is.
final class TargetDirectory: Sendable {
    let url: URL
    /// The path of a relative directory; `nil` for an absolute one.
    let relativePath: String?
    /// Ends in a slash, unless it is empty. An absolute path begins with a slash, so it never equals a relative one.
    private let path: [UInt8]
    /// For an absolute directory.
    let known: KnownDirectory
    /// The last absolute directory that this relative one resolved to. A process rarely has more than one.
    private let latestResolved = Lock<(base: URL, directory: TargetDirectory)?>(nil)

    private init(absolute url: URL) {
        self.url = url
        relativePath = nil
        let path = url.path(percentEncoded: true)
        var bytes = path.percentDecodedBytes ?? Array(path.utf8)
        if bytes.last != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        self.path = bytes
        known = KnownDirectory(url)
    }

    /// The path must be safe (``isSafe(_:)``).
    private init(relative path: String) {
        relativePath = path
        let names = path.split(separator: "/").map { DownloadRequest.percentEncoded(String($0), keepingDots: true) }
        url = URL(string: (names.isEmpty ? "." : names.joined(separator: "/")) + "/")!
        self.path = path.isEmpty ? [] : Array(path.utf8) + [UInt8(ascii: "/")]
        known = KnownDirectory(url)
    }

    /// The last requested directory. Most lists have only one.
    private static let latest = Lock<TargetDirectory?>(nil)

    /// Returns the directory of a file URL, or of a relative reference; `nil` for other URLs.
    static func of(_ url: URL) -> TargetDirectory? {
        if let known = latest.withLock({ $0 }), known.url == url { return known }
        if url.isFileURL { return remembered(TargetDirectory(absolute: url)) }
        return relativePath(of: url).map { remembered(TargetDirectory(relative: $0)) }
    }

    /// Returns a relative directory. The path must be safe.
    static func below(_ path: String) -> TargetDirectory {
        // `==` would treat the composed and the decomposed é as equal.
        if let known = latest.withLock({ $0 }), known.relativePath?.utf8.elementsEqual(path.utf8) == true {
            return known
        }
        return remembered(TargetDirectory(relative: path))
    }

    private static func remembered(_ directory: TargetDirectory) -> TargetDirectory {
        latest.withLock { $0 = directory }
        return directory
    }

    /// Whether every name in a relative path is safe. An empty path is safe, too.
    static func isSafe(_ path: String) -> Bool {
        path.isEmpty
            || path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                SafeFileName.isSafe(String($0))
            }
    }

    /// Returns `nil` if the URL isn't a relative reference, or has a path that isn't safe.
    private static func relativePath(of url: URL) -> String? {
        // Only a path: no scheme, authority, query or fragment.
        guard url.baseURL == nil, url.scheme == nil, url.host() == nil, url.query() == nil, url.fragment() == nil,
            let bytes = url.path(percentEncoded: true).percentDecodedBytes,
            var path = String(validating: bytes, as: UTF8.self)
        else { return nil }
        if path == "./" || path == "." { return "" }
        if path.hasSuffix("/") { path.removeLast() }
        return !path.isEmpty && isSafe(path) ? path : nil
    }

    /// Returns the absolute directory: this one, or this one below `base`.
    func resolved(in base: URL) -> TargetDirectory {
        guard let relativePath else { return self }
        if let known = latestResolved.withLock({ $0 }), known.base == base { return known.directory }
        let directory = TargetDirectory(
            absolute: relativePath.isEmpty ? base : base.appending(path: relativePath, directoryHint: .isDirectory))
        latestResolved.withLock { $0 = (base, directory) }
        return directory
    }

    /// The URL of a file: absolute, or a relative reference.
    func file(_ name: String) -> URL {
        relativePath == ""
            ? URL(string: DownloadRequest.percentEncoded(name, keepingDots: true))!
            : url.appending(path: name, directoryHint: .notDirectory)
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

/// A path as bytes. `String` treats both encodings of é as equal; Linux doesn't. And `String` can't hold names that aren't valid UTF-8;
/// URLs can.
package struct TargetPath: Hashable {
    package let bytes: [UInt8]

    // Hashes all bytes. `Data` hashes only its first 80, and the paths of a list begin alike.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}
