#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// The names of a file's extended attributes.
    ///
    ///     for name in try await files.extendedAttributes(of: url) where name.hasPrefix("user.") { … }
    ///
    /// In no order. On Linux each begins with its namespace: `user.`, `security.`, `system.`, and for root `trusted.`. What
    /// is not UTF-8 in a name is shown as U+FFFD. See listxattr(2), xattr(7).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``: ``FileError/Code/unsupported`` where the file system has none.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to.
    public func extendedAttributes(of url: URL, followingLinks: Bool = true) async throws -> [String] {
        let path = try Path.of(url, for: "list the attributes of")
        return try await run { [kernel] _ in
            let names = try Self.with(path, followingLinks) { target throws(FileError) in
                try kernel.attributeNames(of: target, path)
            }
            return names.map { String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
        }
    }

    /// The value of an extended attribute, or nil if the file has none of this name.
    ///
    ///     let digest = try await files.extendedAttribute("user.digest", of: url)
    ///
    /// Any size, also if it grows meanwhile. See getxattr(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`.
    /// - Failure: a ``FileError``: ``FileError/Code/unsupported`` where the file system has no attributes, or the name no
    ///   namespace.
    ///
    /// - Parameters:
    ///   - name: The name, on Linux with its namespace.
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to.
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
    ///     try await files.setExtendedAttribute("user.digest", of: url, to: digest)
    ///
    /// Atomic: a reader sees the old value or the new one. It is not synced. See setxattr(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/unsupported`` where the file system has no attributes, or the name no
    ///   namespace; ``FileError/Code/noSpace`` or ``FileError/Code/fileTooLarge`` for a value that is too large.
    ///
    /// - Parameters:
    ///   - name: The name, on Linux with its namespace: `user.` for what is one's own.
    ///   - url: A file URL.
    ///   - value: The bytes, possibly none.
    ///   - writing: Whether it may or must exist.
    ///   - followingLinks: Whether a symbolic link counts as what it points to. Links have no `user.` attributes on Linux.
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
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun, it counts.
    /// - Failure: a ``FileError``: ``FileError/Code/noAttribute`` if there is none of this name. See removexattr(2).
    ///
    /// - Parameters:
    ///   - name: The name, on Linux with its namespace.
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to.
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
                code: .invalidArgument, operation: "name an attribute of", path: path,
                remedy: "The name of an attribute is not empty and has no zero byte.")
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

/// What writing an extended attribute does about one that is there, or is not.
public enum AttributeWriting: Sendable, Hashable {
    /// It is made, or gets the new value.
    case createOrReplace
    /// It is made; ``FileError/Code/exists`` if it is there, atomically.
    case create
    /// It gets the new value; ``FileError/Code/noAttribute`` if it is not there, atomically.
    case replace
}
