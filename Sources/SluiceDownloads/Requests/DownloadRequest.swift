public import HTTPTypes
public import SluiceFiles
public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A request to download a URL to a file.
///
///     DownloadRequest(url, to: music)                             // named as the URL says
///     DownloadRequest(url, to: music, name: "Song.mp3")
///     DownloadRequest(url, as: music.appending(path: "Song.mp3"))
///     try DownloadRequest(url, below: "playlists/7")              // below the directory of the process that downloads it
///     DownloadRequest(resolving: song.id, to: music)              // the coordinator's `resolve` knows the URL
///
/// **Names.** Names often come from servers, so a name that isn't safe is made safe, as browsers do (`SafeFileName.safe(_:)`): only its
/// last component counts, without control characters and leading dots, and with at most 255 bytes. If nothing is left, the name comes from
/// the URL. ``name`` is the result. If two requests end up with the same target, the second is a conflict; nothing is renamed or
/// overwritten.
public struct DownloadRequest: Sendable, Hashable {
    /// A queue copies each request dozens of times. With its properties behind one reference, a copy is one retain instead of nine.
    private var properties: CopyOnWrite<Properties>

    /// The URL to download.
    public var url: URL {
        get { properties.value.url }
        set { properties.value.url = newValue }
    }
    /// The directory of the file. It is created if it is missing.
    ///
    /// For a relative request (``init(_:below:name:headerFields:user:priority:)``) it is a relative URL, such as `playlists/7/`. Setting
    /// another kind of URL traps.
    public var directory: URL {
        get { targetDirectory.url }
        set { targetDirectory = Self.checked(newValue) }
    }
    var targetDirectory: TargetDirectory {
        get { properties.value.targetDirectory }
        set { properties.value.targetDirectory = newValue }
    }
    /// The file's name in the directory. A name that isn't safe is made safe.
    public var name: String {
        get { properties.value.name }
        set { properties.value.name = Self.safe(newValue, for: url) }
    }
    /// Additional header fields, such as `Authorization`. They are sent only to the URL's origin.
    ///
    /// A queue that outlives the process refuses a request with header fields, because it doesn't store secrets. Use
    /// ``DownloadCoordinator/Configuration/headerFields`` instead.
    public var headerFields: HTTPFields {
        get { properties.value.headerFields }
        _modify { yield &properties.value.headerFields }
    }
    /// The user who wants the file, for ``DownloadCoordinator/Limits/perUser``. `nil` and the empty string mean no user.
    public var user: String? {
        get { properties.value.user }
        set { properties.value.user = newValue }
    }
    /// The priority. Waiting requests with a higher priority start first.
    public var priority: Int {
        get { properties.value.priority }
        set { properties.value.priority = newValue }
    }
    /// The checksum that the file must have, or `nil` if it isn't known. A queue stores it.
    ///
    ///     var request = DownloadRequest(url, to: music)
    ///     request.checksum = Checksum("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
    ///
    /// A download with other bytes fails with `TransferError.Code.digestMismatch`, and gets no file. An existing file with this checksum counts
    /// as the downloaded one, whatever ``DownloadCoordinator/Configuration/existing`` says; with another, it isn't skipped. If a request joins
    /// an unfinished download, its checksum counts from the next attempt on.
    public var checksum: Checksum? {
        get { properties.value.checksum }
        set { properties.value.checksum = newValue }
    }
    /// Other URLs of the same file, in the order in which they are tried after ``url``. A queue stores them.
    ///
    ///     var request = DownloadRequest(url, to: music)
    ///     request.mirrors = [URL(string: "https://mirror.example/song.mp3")!]
    ///     request.checksum = Checksum("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
    ///
    /// If a server can't be reached, responds with an error, or sends other bytes than the checksum or its own digest says, the download goes
    /// on with the next URL at once, which doesn't count as an attempt. When all have failed, the retries begin, without those that failed
    /// for good. What has arrived is continued if the next server's file has the same length and strong validator; otherwise, the file is
    /// downloaded from its first byte. Errors name the URL that failed.
    ///
    /// Without a checksum, any of these servers decides what the file contains. ``headerFields`` aren't sent to other origins. If a request
    /// joins an unfinished download, its mirrors count from the next attempt on.
    public var mirrors: [URL] {
        get { properties.value.mirrors }
        _modify { yield &properties.value.mirrors }
    }

    private struct Properties: Sendable, Hashable {
        var url: URL
        var targetDirectory: TargetDirectory
        var name: String
        var headerFields: HTTPFields
        var user: String?
        var priority: Int
        var checksum: Checksum?
        var mirrors: [URL] = []
    }

    /// Creates a request to download `url` to a file in `directory`.
    ///
    /// By default, the name comes from the URL. A name that isn't safe is made safe.
    ///
    /// - Precondition: `directory` is a file URL.
    public init(
        _ url: URL, to directory: URL, name: String? = nil, headerFields: HTTPFields = [:], user: String? = nil,
        priority: Int = 0
    ) {
        self.init(
            url, Self.checked(directory), name: name, headerFields: headerFields, user: user, priority: priority)
    }

    init(
        _ url: URL, _ directory: TargetDirectory, name: String? = nil, headerFields: HTTPFields = [:],
        user: String? = nil, priority: Int = 0
    ) {
        let name = name.map { Self.safe($0, for: url) } ?? SafeFileName.suggested(by: url)
        properties = CopyOnWrite(
            Properties(
                url: url, targetDirectory: directory, name: name, headerFields: headerFields, user: user,
                priority: priority))
    }

    /// Creates a request to download `url` to `file`.
    ///
    ///     DownloadRequest(url, as: music.appending(path: "Song.mp3"))
    ///
    /// The file's name is made safe as well: `as: …/.env` writes `env`, because a queue keeps no hidden names. ``target`` is the result.
    ///
    /// - Precondition: `file` is a file URL.
    public init(
        _ url: URL, as file: URL, headerFields: HTTPFields = [:], user: String? = nil, priority: Int = 0
    ) {
        self.init(
            url, to: file.deletingLastPathComponent(), name: file.lastPathComponent, headerFields: headerFields,
            user: user, priority: priority)
    }

    /// The host for ``DownloadCoordinator/Limits/perHost``, with the port unless it is the scheme's default.
    ///
    /// All spellings of a host count as one: `127.1` and `127.0.0.1`, `A.example.` and `a.example`, `bücher.example` and
    /// `xn--bcher-kva.example`. Names aren't looked up. An IPv6 address is in brackets.
    public var host: String { Self.host(of: url) }

    static func host(of url: URL) -> String { url.canonicalHostAndPort }

    /// Creates a request for a resource whose URL isn't known yet, because it expires or depends on the user.
    ///
    ///     DownloadRequest(resolving: song.id, to: music, user: me)
    ///
    /// The coordinator's `resolve` closure returns the URL before each attempt. Only the identifier is stored. Requests with the same
    /// identifier and target are one download, whatever host they name. ``url`` contains the identifier, with the scheme `sluice-id`.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - host: The host that counts toward the limits until the URL is known, spelled like ``host``. If it is missing or isn't valid in a
    ///     URL, only the total and per-user limits apply until then.
    ///   - directory: The directory of the file.
    ///   - name: The file's name. By default it is the identifier, percent-encoded; if that is longer than 255 bytes, it is cut and ends in
    ///     a hash.
    ///   - user: The user who wants the file.
    ///   - priority: The priority.
    /// - Precondition: `directory` is a file URL.
    public init(
        resolving id: String, host: String? = nil, to directory: URL, name: String? = nil, user: String? = nil,
        priority: Int = 0
    ) {
        self.init(
            Self.unresolvedURL(id, host: host), to: directory, name: name ?? Self.fileName(of: id), user: user,
            priority: priority)
    }

    private static func unresolvedURL(_ id: String, host: String?) -> URL {
        let path = percentEncoded(id)
        if let host, let url = URL(string: "\(unresolvedScheme)://\(host)/\(path)"), url.host()?.isEmpty == false,
            url.path(percentEncoded: true) == "/" + path
        {
            return url
        }
        // A made-up host that no other download shares, so no limit counts it (RFC 2606 reserves the domain).
        return URL(string: "\(unresolvedScheme)://\(String(id.stableHash, radix: 16)).invalid/\(path)")!
    }

    /// Returns a safe file name for an identifier. Different identifiers get different names.
    package static func fileName(of id: String, maximumBytes: Int = SafeFileName.maximumBytes) -> String {
        var name = percentEncoded(id, keepingDots: true)
        if name.hasPrefix(".") { name = "%2E" + name.dropFirst() }
        if name.isEmpty { name = "%" }
        guard name.utf8.count > maximumBytes else { return name }
        let hash = "~" + String(id.stableHash, radix: 16)
        return name.prefix(maximumBytes - hash.utf8.count) + hash
    }

    /// The identifier of a request whose URL isn't known yet; `nil` for other requests.
    public var unresolvedID: String? {
        // `path(percentEncoded: false)` is empty for some texts, such as one with a NUL character.
        isUnresolved ? Self.percentDecoded(url.path(percentEncoded: true).dropFirst()) : nil
    }

    package var isUnresolved: Bool { url.scheme == Self.unresolvedScheme }

    /// What two requests for one target must have in common to be the same download: the URL, or the identifier without the host, which is
    /// only a hint.
    package static func resource(of url: String) -> Substring {
        let scheme = unresolvedScheme + "://"
        return url.hasPrefix(scheme) ? url.dropFirst(scheme.count).drop { $0 != "/" } : url[...]
    }

    private static let unresolvedScheme = "sluice-id"

    /// Encodes all characters that aren't unreserved (RFC 3986, section 2.3), and dots unless they are kept. The text is then a single path
    /// component and can't mean a parent directory.
    package static func percentEncoded(_ text: String, keepingDots: Bool = false) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { encoded, byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.append(Character(Unicode.Scalar(byte)))
            case UInt8(ascii: ".") where keepingDots: encoded.append(".")
            default:
                encoded += ["%", digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }

    private static func percentDecoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(Substring(rest.prefix(2)), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Creates a request from the parts that a queue stored. Returns `nil` if another program damaged them.
    package init?(
        storedURL: String, directory: String, name: String, user: String, priority: Int, checksum: String? = nil,
        mirrors: String? = nil
    ) {
        guard let url = URL(string: storedURL), let directory = URL(string: directory).flatMap(TargetDirectory.of),
            SafeFileName.isSafe(name)
        else { return nil }
        self.init(url, directory, name: name, user: user.isEmpty ? nil : user, priority: priority)
        // A file that another program changed must not be taken for verified.
        if let checksum {
            guard let known = Checksum(checksum) else { return nil }
            self.checksum = known
        }
        guard let mirrors else { return }
        for line in mirrors.split(separator: "\n") {
            guard let mirror = URL(string: String(line)) else { return nil }
            self.mirrors.append(mirror)
        }
    }

    /// The mirrors as a queue stores them, one per line; `nil` if there are none.
    package var storedMirrors: String? {
        mirrors.isEmpty ? nil : mirrors.map(\.absoluteString).joined(separator: "\n")
    }

    private static func safe(_ name: String, for url: URL) -> String {
        SafeFileName.safe(name) ?? SafeFileName.suggested(by: url)
    }

    private static func checked(_ directory: URL) -> TargetDirectory {
        guard let checked = TargetDirectory.of(directory) else {
            preconditionFailure("A download request's directory must be a file URL; it is '\(directory)'.")
        }
        return checked
    }

    /// The URL of the completed file. For a relative request, it is a relative URL, such as `playlists/7/Song.mp3`.
    public var target: URL { targetDirectory.file(name) }

    package var targetPath: TargetPath { targetDirectory.path(of: name) }

    var targetPlace: (directory: URL, name: String) { (directory, name) }

    var checkpointPlace: (directory: URL, name: String) { (directory, checkpointName) }

    /// The incomplete file beside the target: `NAME.sluice.part`, or a shortened name if that would be too long.
    package var partialTarget: URL { targetDirectory.file(partialName) }

    /// The checkpoint of the partial file: `NAME.sluice.json`, shortened the same way.
    package var checkpointTarget: URL { targetDirectory.file(checkpointName) }

    // Not just `.part`, because browsers use that for their own files.
    var partialName: String { companionName(Self.companionEndings[0]) }

    var checkpointName: String { companionName(Self.companionEndings[1]) }

    /// The hidden name of a small file while it is written. A killed process leaves it behind, and the next attempt overwrites it.
    var temporaryName: String { Self.temporaryPrefix + Self.tag(of: name) }

    var checkpointTemporaryName: String { temporaryName + ".json" }

    private static let temporaryPrefix = ".sluice-"

    private static func tag(of name: String) -> String { String(name.stableHash, radix: 16) }

    /// Earlier versions wrote the next checkpoint to a file with the last ending.
    private static let companionEndings = [".sluice.part", ".sluice.json", ".sluice.new"]

    /// Whether another download's partial file or checkpoint could have this name, even on a file system that ignores case.
    var hasReservedName: Bool { Self.isReserved(name) }

    static func isReserved(_ name: String) -> Bool {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: ".") }) else { return false }
        let upper = name.uppercased()
        return upper.hasPrefix(temporaryPrefix.uppercased())
            || companionEndings.contains { upper.hasSuffix($0.uppercased()) }
    }

    private var companionNames: [String] { Self.companionEndings.map(companionName) }

    private func companionName(_ ending: String) -> String {
        guard name.utf8.count + ending.utf8.count > SafeFileName.maximumBytes else { return name + ending }
        // Two long names may begin alike; the hash keeps their partial files apart.
        let tag = "~" + Self.tag(of: name)
        var stem = name
        while stem.utf8.count + tag.utf8.count + ending.utf8.count > SafeFileName.maximumBytes { stem.removeLast() }
        return stem + tag + ending
    }
}

// MARK: - Storage

/// A value on the heap that copies share until one of them is changed, for a large value that is copied more often than it is changed.
private struct CopyOnWrite<Value> {
    private final class Box {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    init(_ value: Value) { box = Box(value) }

    var value: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

// No lock: a box is changed only while there is no other reference to it.
extension CopyOnWrite: @unchecked Sendable where Value: Sendable {}

extension CopyOnWrite: Equatable where Value: Equatable {
    static func == (one: Self, other: Self) -> Bool { one.box === other.box || one.value == other.value }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

// MARK: - Relative directories

extension DownloadRequest {
    /// Creates a request to download `url` to a file below the base directory of whichever process downloads it.
    ///
    ///     try DownloadRequest(url, below: "playlists/7", name: "Song.mp3")
    ///     DownloadCoordinator.Configuration(directory: music)         // gets playlists/7/Song.mp3
    ///
    /// A queue stores only the relative path. The process that runs the queue appends it to its own
    /// ``DownloadCoordinator/Configuration/directory``. So each machine that shares the queue can use a different directory, and so can an
    /// app after an update that moved its files.
    ///
    /// In a queue that spans machines, any machine can run this request. A request with an absolute directory runs only on the machine that
    /// enqueued it.
    ///
    /// - Parameters:
    ///   - url: The URL to download.
    ///   - path: Directory names, separated by slashes; empty for the base directory itself.
    ///   - name: The file's name, as in ``init(_:to:name:headerFields:user:priority:)``.
    ///   - headerFields: Additional header fields.
    ///   - user: The user who wants the file.
    ///   - priority: The priority.
    /// - Throws: `FileError` with the code `invalidPath` if the path isn't safe (``isSafePath(_:)``), such as `..` or an absolute path. It
    ///   isn't made safe, because the file would then land in a directory that the caller doesn't expect.
    public init(
        _ url: URL, below path: String, name: String? = nil, headerFields: HTTPFields = [:], user: String? = nil,
        priority: Int = 0
    ) throws(FileError) {
        self.init(
            url, try TargetDirectory.checked(path), name: name, headerFields: headerFields, user: user,
            priority: priority)
    }

    /// Creates a request for a resource whose URL isn't known yet, to a file below the base directory of whichever process downloads it.
    ///
    ///     try DownloadRequest(resolving: song.id, below: "playlists/7")
    ///
    /// See ``init(resolving:host:to:name:user:priority:)`` and ``init(_:below:name:headerFields:user:priority:)``.
    ///
    /// - Throws: `FileError` with the code `invalidPath` if the path isn't safe.
    public init(
        resolving id: String, host: String? = nil, below path: String, name: String? = nil, user: String? = nil,
        priority: Int = 0
    ) throws(FileError) {
        self.init(
            Self.unresolvedURL(id, host: host), try TargetDirectory.checked(path), name: name ?? Self.fileName(of: id),
            user: user, priority: priority)
    }

    /// Whether `path` is a safe relative directory, one that can't leave the base directory. It must be empty, or consist of safe names
    /// (`SafeFileName.isSafe(_:)`) separated by single slashes, with no slash at the beginning or the end.
    public static func isSafePath(_ path: String) -> Bool { TargetDirectory.isSafe(path) }

    /// Whether the directory is relative to the base directory of the process that downloads the file.
    package var isRelative: Bool { targetDirectory.relativePath != nil }

    /// The same request with a relative directory, if its directory is `base` or below it. Returns `nil` if the directory is already
    /// relative, is elsewhere, or contains unsafe names.
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

    /// The same request with an absolute directory: a relative one is resolved below `base`.
    package func resolved(in base: URL) -> DownloadRequest {
        guard isRelative else { return self }
        var request = self
        request.targetDirectory = targetDirectory.resolved(in: base)
        return request
    }
}

extension TargetDirectory {
    fileprivate static func checked(_ path: String) throws(FileError) -> TargetDirectory {
        guard isSafe(path) else {
            throw FileError(
                .invalidPath, subject: path, message: "'\(path)' isn't a safe path below a directory.",
                remedy: "Use names separated by single slashes, without '..' and without a slash at the beginning.")
        }
        return below(path)
    }
}

// MARK: - Conflicts

extension DownloadRequest {
    /// Finds requests that conflict with an earlier request in the list: both have the same target, or the target of one is the partial
    /// file or checkpoint of the other. The result maps the index of each such request to the index of the earlier one. O(n). Paths are
    /// compared byte for byte, so make directories absolute and standardized first.
    package static func conflicts(in requests: [DownloadRequest]) -> [Int: Int] {
        var targets: [TargetPath: Int] = [:]
        targets.reserveCapacity(requests.count)
        var conflicts: [Int: Int] = [:]
        for (index, request) in requests.enumerated() {
            let path = request.targetPath
            if let earlier = targets[path] { conflicts[index] = earlier } else { targets[path] = index }
        }
        // Only a target whose name has such an ending can be another target's partial file or checkpoint.
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

// MARK: - Description

extension DownloadRequest: CustomStringConvertible, CustomReflectable {
    /// The URL, without its user name, password, query and fragment, and the file's path.
    public var description: String { "\(url.redactedForDisplay) to \(target.path(percentEncoded: false))" }

    /// The properties without their secrets, for `dump(_:)` and test reports.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url.redactedForDisplay, "directory": directory, "name": name,
                "headerFields": headerFields.map { "\($0.name): \($0.redactedInRequest)" }, "user": user as Any,
                "priority": priority, "checksum": checksum as Any, "mirrors": mirrors.map(\.redactedForDisplay),
            ])
    }
}

extension String {
    /// A hash that is the same in every process and on every platform (FNV-1a with 64 bits), unlike `hashValue`.
    package var stableHash: UInt64 {
        utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
