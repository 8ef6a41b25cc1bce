#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
import SluiceHTTP

/// One file to fetch: from where, and to which name in which directory.
///
///     DownloadRequest(url, to: music)                       // named as the URL says
///     DownloadRequest(url, to: music, name: "Song.mp3")
public struct DownloadRequest: Sendable, Hashable {
    /// Where the bytes are.
    public var url: URL
    /// The directory that the file goes to. It is made if it is missing.
    public var directory: URL {
        get { targetDirectory.url }
        set { targetDirectory = TargetDirectory.of(newValue) }
    }
    private(set) var targetDirectory: TargetDirectory
    /// The file's name in the directory: one safe path component (`SafeFileName.isSafe(_:)`). Setting another stops the program.
    public var name: String {
        didSet { Self.check(name) }
    }
    /// Fields beside the usual ones, such as `Authorization`; they stay with the URL's origin.
    ///
    /// A queue that outlives the process does not take them, since secrets are not stored
    /// (``DownloadCoordinator/Configuration/headerFields``).
    public var headerFields: HTTPFields
    /// The user that the download is for; ``DownloadCoordinator/Limits/perUser`` counts those of a user together. Nil or empty is no user.
    public var user: String?
    /// Of the requests that wait, those of a higher priority come first.
    public var priority: Int

    /// A request to store what `url` leads to.
    ///
    /// The name is one safe path component (`SafeFileName.isSafe(_:)`); by default it is what the URL suggests. A name that is
    /// not safe stops the program: check what comes from elsewhere first.
    public init(
        _ url: URL, to directory: URL, name: String? = nil, headerFields: HTTPFields = [:], user: String? = nil,
        priority: Int = 0
    ) {
        if let name { Self.check(name) }
        precondition(directory.isFileURL, "DownloadRequest: the directory \(directory) is not a file URL")
        self.url = url
        targetDirectory = TargetDirectory.of(directory)
        self.name = name ?? SafeFileName.suggested(by: url)
        self.headerFields = headerFields
        self.user = user
        self.priority = priority
    }

    /// What ``DownloadCoordinator/Limits/perHost`` counts together: the URL's host, and its port where it is not the scheme's own.
    public var host: String {
        if let plain = PlainURL(url) {
            guard let port = plain.port, port != (plain.isSecure ? 443 : 80) else { return plain.host }
            return "\(plain.host):\(port)"
        }
        let host = url.host(percentEncoded: false)?.lowercased() ?? ""
        let usual = url.scheme?.lowercased() == "https" ? 443 : 80
        guard let port = url.port, port != usual else { return host }
        return "\(host):\(port)"
    }

    private static func check(_ name: String) {
        precondition(SafeFileName.isSafe(name), "DownloadRequest: \"\(name)\" is not a safe name for a file")
    }

    /// The file in the end.
    public var target: URL {
        directory.appending(path: name, directoryHint: .notDirectory)
    }

    /// The target's path by its bytes.
    var targetPath: TargetPath { targetDirectory.path(of: name) }

    /// The target, as `FileIO` is asked for many.
    var targetPlace: (directory: URL, name: String) { (directory, name) }

    /// The checkpoint, likewise.
    var checkpointPlace: (directory: URL, name: String) { (directory, checkpointName) }

    /// The file while it is incomplete, beside the target: `name.sluice.part`, or a shortened name where that would be too
    /// long.
    package var partialTarget: URL {
        directory.appending(path: partialName, directoryHint: .notDirectory)
    }

    /// What is known of the partial file, beside it: `name.sluice.json`, shortened in the same way.
    package var checkpointTarget: URL {
        directory.appending(path: checkpointName, directoryHint: .notDirectory)
    }

    // Not `.part` alone: browsers name their own files so.
    var partialName: String { companionName(Self.companionEndings[0]) }

    var checkpointName: String { companionName(Self.companionEndings[1]) }

    /// The next checkpoint while it is written.
    var checkpointTemporaryName: String { companionName(Self.companionEndings[2]) }

    private static let companionEndings = [".sluice.part", ".sluice.json", ".sluice.new"]

    /// The names that a transfer makes beside the target's.
    var companionNames: [String] { [partialName, checkpointName, checkpointTemporaryName] }

    private func companionName(_ ending: String) -> String {
        guard name.utf8.count + ending.utf8.count > SafeFileName.maximumBytes else { return name + ending }
        // Two long names may begin alike: the hash keeps their partial files apart.
        let tag =
            "~"
            + String(
                name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
        var stem = name
        while stem.utf8.count + tag.utf8.count + ending.utf8.count > SafeFileName.maximumBytes { stem.removeLast() }
        return stem + tag + ending
    }
}

extension DownloadRequest {
    /// Which requests cannot be carried out beside an earlier one of the list: they have the same target, or the one's
    /// target is the other's partial file or checkpoint. By their places in the list, with the earlier one's.
    ///
    /// O(n). Paths are compared as they are: make directories absolute and standardized first.
    package static func conflicts(in requests: [DownloadRequest]) -> [Int: Int] {
        var targets: [TargetPath: Int] = [:]
        targets.reserveCapacity(requests.count)
        var conflicts: [Int: Int] = [:]
        for (index, request) in requests.enumerated() {
            let path = request.targetPath
            if let earlier = targets[path] { conflicts[index] = earlier } else { targets[path] = index }
        }
        // A target is another one's companion only if it is named like one.
        guard requests.contains(where: { request in companionEndings.contains(where: request.name.hasSuffix) }) else {
            return conflicts
        }
        for (index, request) in requests.enumerated() where conflicts[index] == nil {
            for name in request.companionNames {
                guard let other = targets[request.targetDirectory.path(of: name)], other != index else { continue }
                conflicts[max(index, other)] = min(index, other)
            }
        }
        return conflicts
    }
}
