internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Renames a file or directory, atomically.
    ///
    ///     try await files.rename(part, to: song)                         // throws .exists if a song is there
    ///     try await files.rename(part, to: song, existing: .replace)
    ///
    /// By default, an existing file is never replaced, even by concurrent renames: the method uses renameat2(2) with
    /// RENAME_NOREPLACE. If the kernel or the file system doesn't support that, a file is renamed by link(2) and unlink(2), and a
    /// directory by mkdir(2) and rename(2). This isn't atomic: for a moment, both names of the file exist, or an empty directory
    /// exists at the destination.
    ///
    /// If both URLs are names of the same file (hard links), replacing removes the old name, even though rename(2) would do nothing.
    ///
    /// Both URLs must be on the same file system. `.skip` is the same as `.fail`. The new name isn't synced: see
    /// <doc:WhatSurvivesACrash>.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``, and both paths are unchanged.
    public func rename(_ source: URL, to destination: URL, existing: ExistingFile = .fail) async throws {
        let from = try Path.of(source, for: "rename")
        let to = try Path.of(destination, for: "rename to")
        try await run { [system] _ in try system.rename(from, to: to, existing: existing) }
    }

    /// Removes a file, a symbolic link or an empty directory. A link isn't followed.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound`` if nothing exists at the URL, and ``FileError/Code/notEmpty`` for
    ///   a directory with entries (see ``removeTree(_:progress:)``). See unlink(2), rmdir(2).
    public func remove(_ url: URL) async throws {
        let path = try Path.of(url, for: "remove")
        try await run { [system] _ in try system.remove(path) }
    }

    /// Creates a directory and, unless `withIntermediates` is false, the missing directories above it. Does nothing if it exists.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. If a file is in the way, the error names it. Directories that were created before the error
    ///   stay. See mkdir(2).
    public func createDirectory(
        at url: URL, withIntermediates: Bool = true, permissions: FilePermissions = .newDirectory
    ) async throws {
        let path = try Path.of(url, for: "create directory")
        try await run { [system] _ in
            if withIntermediates {
                try system.makeDirectories(path, permissions.rawValue)
            } else {
                try system.createDirectory(path, permissions.rawValue)
            }
        }
    }
}

extension SystemInterface {
    func remove(_ path: String) throws(FileError) {
        let unlinked = path.withCString { path in retrying { calls.unlink(path) } }
        // Linux reports EISDIR for a directory; POSIX specifies EPERM.
        guard unlinked == -EISDIR || unlinked == -EPERM else { return try check(unlinked, "remove", path) }
        let removed = path.withCString { path in retrying { calls.removeDirectory(path) } }
        // It isn't a directory, so the first error is the cause.
        try check(removed == -ENOTDIR ? unlinked : removed, "remove", path)
    }

    func createDirectory(_ path: String, _ permissions: UInt32) throws(FileError) {
        let made = path.withCString { path in retrying { calls.createDirectory(path, permissions) } }
        if made == -EEXIST, try status(of: path)?.isDirectory == true { return }
        try check(made, "create directory", path)
    }

    /// Creates a directory and the missing ones above it. Starts with the last name, because usually only that one is missing.
    func makeDirectories(_ path: String, _ permissions: UInt32) throws(FileError) {
        var missing = [path]
        do {
            while let current = missing.last {
                do {
                    try createDirectory(current, permissions)
                    missing.removeLast()
                    break
                } catch  where error.code == .notFound && Path.directory(of: current) != current {
                    missing.append(Path.directory(of: current))
                }
            }
            // From here on, ENOENT is an error: /proc returns it for any name, even though /proc exists.
            while let next = missing.popLast() { try createDirectory(next, permissions) }
        } catch  where error.code == .notDirectory {
            throw error.with(operation: error.operation, path: try file(inTheWayOf: path) ?? error.subject)
        }
    }

    private func file(inTheWayOf path: String) throws(FileError) -> String? {
        var current = path
        while Path.directory(of: current) != current {
            if let status = try status(of: current) { return status.isDirectory ? nil : current }
            current = Path.directory(of: current)
        }
        return nil
    }
}

// MARK: - Links

extension FileIO {
    /// Creates a symbolic link.
    ///
    ///     try await files.createSymbolicLink(at: directory.appending(path: "latest"), to: "2026-11-21")
    ///
    /// The destination is stored unchanged and need not exist. A relative destination is resolved from the link's directory, not
    /// from the working directory. See symlink(2), symlink(7).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/exists`` if a file exists at `url`, and ``FileError/Code/notFound`` if the
    ///   destination is empty.
    public func createSymbolicLink(at url: URL, to destination: String) async throws {
        let path = try Path.of(url, for: "create symbolic link")
        guard !destination.utf8.contains(0) else {
            throw FileError(
                code: .invalidPath, operation: "create symbolic link", path: path,
                remedy: "Pass a destination that has no zero byte.")
        }
        try await run { [system] _ in try system.createSymbolicLink(to: Array(destination.utf8CString), at: path) }
    }

    /// Returns the path that a symbolic link points to, as it is stored in the link.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/invalidArgument`` if the file isn't a symbolic link, and
    ///   ``FileError/Code/invalidPath`` if the path isn't UTF-8. The system can still follow and copy such a link. See readlink(2).
    public func destination(ofSymbolicLink url: URL) async throws -> String {
        let path = try Path.of(url, for: "read the symbolic link")
        return try await run { [system] _ in
            do throws(FileError) {
                return try Self.string(system.linkTarget(of: path), "read the symbolic link", path)
            } catch {
                var error = error
                if error.systemError == EINVAL {
                    error.remedy = "Use the path itself, because it isn't a symbolic link."
                }
                throw error
            }
        }
    }

    /// Creates a hard link: a second name for a file, equivalent to the first. The file exists until its last name is removed.
    ///
    /// Both names must be on the same file system. If `existing` is a symbolic link and `followsLinks` is false, the new name refers to the
    /// link itself. The call fails atomically if a file exists at `url`. See linkat(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/exists``, ``FileError/Code/differentFileSystems``, or
    ///   ``FileError/Code/permissionDenied`` for a directory, which can't have a second name.
    public func createLink(at url: URL, to existing: URL, followsLinks: Bool = true) async throws {
        let new = try Path.of(url, for: "create link")
        let old = try Path.of(existing, for: "create a link to")
        try await run { [system] _ in
            let result = old.withCString { old in
                new.withCString { new in
                    system.retrying { system.calls.metadata.link(old, new, followsLinks) }
                }
            }
            try system.check(result, "link '\(old)' as", new)
        }
    }

    /// Returns the path of a file without symbolic links, `.` and `..`.
    ///
    /// Every component of the path exists at the time of the call. That can change immediately afterwards, so don't use the
    /// result to decide whether a file may be opened. See realpath(3).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/notFound``, ``FileError/Code/tooManyLinks``, or
    ///   ``FileError/Code/invalidPath`` if the resolved path isn't UTF-8.
    public func resolve(_ url: URL) async throws -> URL {
        let path = try Path.of(url, for: "resolve")
        let resolved = try await run { [system] _ in try Self.string(system.resolved(path), "resolve", path) }
        return URL(filePath: resolved, directoryHint: url.hasDirectoryPath ? .isDirectory : .notDirectory)
    }

    private static func string(
        _ text: [CChar], _ operation: String, _ path: String
    ) throws(FileError) -> String {
        guard let string = String(validating: text.dropLast(), as: UTF8.self) else {
            throw FileError(
                code: .invalidPath, operation: operation, path: path,
                remedy: "Open or copy the file by this path, because the path that it leads to isn't UTF-8.")
        }
        return string
    }
}

extension SystemInterface {
    /// The largest buffer for a link target or a resolved path. Linux limits targets to 4096 bytes.
    static var longestPath: Int { 1 << 20 }

    func linkTarget(of path: String) throws(FileError) -> [CChar] {
        // readlink(2) truncates without an error, so a result is complete only if it leaves room in the buffer.
        try text("read the symbolic link", path) { path, buffer in
            let result = calls.metadata.readLink(path, buffer)
            return result == buffer.count ? -Int(ERANGE) : result
        }
    }

    func resolved(_ path: String) throws(FileError) -> [CChar] {
        try text("resolve", path) { path, buffer in calls.metadata.resolve(path, buffer) }
    }

    func createSymbolicLink(to target: [CChar], at path: String) throws(FileError) {
        let result = target.withUnsafeBufferPointer { target in
            path.withCString { path in retrying { calls.metadata.symbolicLink(target.baseAddress!, path) } }
        }
        try check(result, "create symbolic link", path)
    }

    /// Returns the text that a call writes. Enlarges the buffer after each ERANGE.
    private func text(
        _ operation: String, _ path: String, _ call: (SystemCalls.Path, UnsafeMutableRawBufferPointer) -> Int
    ) throws(FileError) -> [CChar] {
        var bytes = [CChar](repeating: 0, count: 256)
        while true {
            let result = path.withCString { path in
                retrying { bytes.withUnsafeMutableBytes { call(path, $0) } }
            }
            if result == -Int(ERANGE), bytes.count < Self.longestPath {
                bytes = [CChar](repeating: 0, count: bytes.count * 4)
                continue
            }
            try check(result, operation, path)
            return bytes.prefix(result) + [0]
        }
    }
}

// MARK: - Paths

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
