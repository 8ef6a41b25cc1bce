#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

enum Path {
    /// Returns the path of a file URL, without a trailing slash.
    static func of(_ url: URL, for operation: String) throws(FileError) -> String {
        guard url.isFileURL else {
            throw FileError(
                code: .invalidPath, operation: operation, path: origin(of: url),
                remedy: "Create the URL with 'URL(filePath:)'.")
        }
        // "file://music/song.mp3" is "/song.mp3" on the machine "music".
        if let host = url.host(), !host.isEmpty, host != "localhost" {
            throw FileError(
                code: .invalidPath, operation: operation, path: origin(of: url),
                remedy: "Create the URL with 'URL(filePath:)', because '\(host)' is the name of another machine here.")
        }
        var path = url.path(percentEncoded: false)
        // Removes scalars, not characters: U+0600 and a slash after it form one character, so removing that would remove part of the name.
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.unicodeScalars.removeLast() }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw FileError(
                code: .invalidPath, operation: operation, path: path,
                remedy: "Pass a path that isn't empty and has no zero byte.")
        }
        return path
    }

    /// Returns the part of a URL that an error may show. The user, password, path and query may be secrets.
    private static func origin(of url: URL) -> String {
        guard let scheme = url.scheme else { return "URL without a scheme" }
        guard let host = url.host(), !host.isEmpty else { return "\(scheme):…" }
        return "\(scheme)://\(host)"
    }

    static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func name(of path: String) -> Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path[...] }
        return path[path.utf8.index(after: slash)...]
    }

    static func join(_ directory: String, _ name: some StringProtocol) -> String {
        var path = directory
        if path.utf8.last != UInt8(ascii: "/") { path += "/" }
        path += name
        return path
    }
}

/// The path of a directory, for callers that use many names in it: reading the path of a URL takes longer than a system call.
package struct KnownDirectory: Sendable {
    let path: Result<String, FileError>

    /// An operation throws an error if the URL isn't a file URL on this machine.
    package init(_ directory: URL) {
        path = Result { () throws(FileError) in try Path.of(directory, for: "write") }
    }
}
