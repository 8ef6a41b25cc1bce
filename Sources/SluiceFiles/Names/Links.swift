internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
