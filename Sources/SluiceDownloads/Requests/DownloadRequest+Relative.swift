#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

extension DownloadRequest {
    /// Creates a request to download `url` to a file below the directory of the process that downloads it.
    ///
    ///     DownloadRequest(url, below: "playlists/7", name: "Song.mp3")
    ///     DownloadCoordinator.Configuration(directory: music)         // gets playlists/7/Song.mp3
    ///
    /// A queue stores only the relative path. The process that runs the queue adds it to
    /// ``DownloadCoordinator/Configuration/directory``. So the directory can be a different one on each machine that shares the queue, and
    /// after each update of an app, which may move its files.
    ///
    /// In a queue that spans machines, any machine can download this request. One with an absolute directory is downloaded only by the
    /// machine that has enqueued it.
    ///
    /// - Parameters:
    ///   - url: The URL to download.
    ///   - path: The names of directories, separated by slashes; empty for the directory itself. A path that isn't safe traps
    ///     (``isSafePath(_:)``), so check paths from untrusted sources first.
    ///   - name: The file's name, as in ``init(_:to:name:headerFields:user:priority:)``.
    ///   - headerFields: Additional header fields.
    ///   - user: The user that the file is downloaded for.
    ///   - priority: The priority.
    public init(
        _ url: URL, below path: String, name: String? = nil, headerFields: HTTPFields = [:], user: String? = nil,
        priority: Int = 0
    ) {
        self.init(
            url, TargetDirectory.checked(path), name: name, headerFields: headerFields, user: user, priority: priority)
    }

    /// Creates a request for a resource whose URL isn't known yet, to a file below the directory of the process that downloads it.
    ///
    ///     DownloadRequest(resolving: "song 7", host: "cdn.example.com", below: "playlists/7", name: "Song.mp3")
    ///
    /// See ``init(resolving:host:to:name:user:priority:)`` and ``init(_:below:name:headerFields:user:priority:)``.
    public init(
        resolving id: String, host: String, below path: String, name: String, user: String? = nil, priority: Int = 0
    ) {
        self.init(
            Self.unresolvedURL(id, host: host), TargetDirectory.checked(path), name: name, user: user,
            priority: priority)
    }

    /// Whether a path can be that of a relative directory: names without a slash before, after or beside another, each of them safe
    /// (`SafeFileName.isSafe(_:)`), or nothing. So it can't leave the directory.
    public static func isSafePath(_ path: String) -> Bool { TargetDirectory.isSafe(path) }

    /// Whether the directory is relative to that of the process that downloads the file.
    package var isRelative: Bool { targetDirectory.relativePath != nil }

    /// The request with a relative directory if its own is `base` or below it. Returns `nil` if it is relative already, elsewhere, or has
    /// names that aren't safe.
    package func relative(to base: URL) -> DownloadRequest? {
        guard !isRelative, let base = TargetDirectory.of(base.absoluteURL.standardizedFileURL) else { return nil }
        let (own, parent) = (targetDirectory.path(of: "").bytes, base.path(of: "").bytes)
        guard own.starts(with: parent), var path = String(validating: own.dropFirst(parent.count), as: UTF8.self)
        else { return nil }
        if path.hasSuffix("/") { path.removeLast() }
        guard Self.isSafePath(path) else { return nil }
        var request = self
        request.targetDirectory = TargetDirectory.below(path)
        return request
    }

    /// The request with an absolute directory: its own, or the relative one below `base`.
    package func resolved(in base: URL) -> DownloadRequest {
        guard isRelative else { return self }
        var request = self
        request.targetDirectory = targetDirectory.resolved(in: base)
        return request
    }
}

extension TargetDirectory {
    fileprivate static func checked(_ path: String) -> TargetDirectory {
        precondition(
            isSafe(path), "The path of a download request must consist of safe file names; it is '\(path)'.")
        return below(path)
    }
}
