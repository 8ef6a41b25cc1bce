#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Returns the names of a file's extended attributes, in no particular order.
    ///
    /// On Linux each name begins with its namespace: `user.`, `security.`, `system.`, or, for root, `trusted.`. Bytes that aren't
    /// UTF-8 appear as U+FFFD. See listxattr(2), xattr(7).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` if the file system has no extended attributes.
    public func extendedAttributes(of url: URL, followingLinks: Bool = true) async throws -> [String] {
        let path = try Path.of(url, for: "list the attributes of")
        return try await run { [kernel] _ in
            let names = try Self.with(path, followingLinks) { target throws(FileError) in
                try kernel.attributeNames(of: target, path)
            }
            return names.map { String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
        }
    }

    /// Returns the value of an extended attribute, or `nil` if the file has no attribute with this name. On Linux, the name
    /// includes its namespace.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` if the file system has no extended attributes, or if the name
    ///   has no valid namespace. See getxattr(2).
    public func extendedAttribute(
        _ name: String, of url: URL, followingLinks: Bool = true
    ) async throws -> Data? {
        let path = try Path.of(url, for: "read an attribute of")
        let name = try Self.name(name, path)
        return try await run { [kernel] _ in
            try Self.with(path, followingLinks) { target throws(FileError) in
                try kernel.attribute(name, of: target, path).map { Data($0) }
            }
        }
    }

    /// Sets an extended attribute.
    ///
    /// On Linux, the name includes its namespace. Applications use `user.`, which a symbolic link itself can't have. The change is
    /// atomic: a reader gets the old value or the new one. It isn't synced. See setxattr(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` if the file system has no extended attributes, or if the name
    ///   has no valid namespace; ``FileError/Code/noSpace`` or ``FileError/Code/fileTooLarge`` if the value is too large.
    public func setExtendedAttribute(
        _ name: String, of url: URL, to value: Data, _ writing: AttributeWriting = .createOrReplace,
        followingLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set an attribute of")
        let name = try Self.name(name, path)
        try await run { [kernel] _ in
            try Self.with(path, followingLinks) { target throws(FileError) in
                try kernel.setAttribute(name, of: target, to: value, writing, path)
            }
        }
    }

    /// Removes an extended attribute.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/noAttribute`` if the file has no attribute with this name. See
    ///   removexattr(2).
    public func removeExtendedAttribute(_ name: String, of url: URL, followingLinks: Bool = true) async throws {
        let path = try Path.of(url, for: "remove an attribute of")
        let name = try Self.name(name, path)
        try await run { [kernel] _ in
            try Self.with(path, followingLinks) { target throws(FileError) in
                try kernel.removeAttribute(name, of: target, path)
            }
        }
    }

    private static func name(_ name: String, _ path: String) throws(FileError) -> [CChar] {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw FileError(
                code: .invalidArgument, operation: "use an attribute of", path: path,
                remedy: "Pass a name that isn't empty and has no zero byte.")
        }
        return Array(name.utf8CString)
    }

    private static func with<R>(
        _ path: String, _ followingLinks: Bool, _ body: (MetadataCalls.Target) throws(FileError) -> R
    ) throws(FileError) -> R {
        let path = Array(path.utf8CString)
        return try path.withUnsafeBufferPointer { path throws(FileError) in
            try body(.path(path.baseAddress!, followingLinks: followingLinks))
        }
    }
}

/// What to do if an extended attribute already exists, or doesn't.
public enum AttributeWriting: Sendable, Hashable {
    /// Creates the attribute or replaces its value.
    case createOrReplace
    /// Creates the attribute. If it exists, throws ``FileError/Code/exists``. The check is atomic.
    case create
    /// Replaces the value. If the attribute doesn't exist, throws ``FileError/Code/noAttribute``. The check is atomic.
    case replace
}
