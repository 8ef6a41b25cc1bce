internal import CSluiceFiles

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
    public func extendedAttributes(of url: URL, followsLinks: Bool = true) async throws -> [String] {
        let path = try Path.of(url, for: "list the attributes of")
        return try await run { [system] _ in
            let names = try Self.with(path, followsLinks) { target throws(FileError) in
                try system.attributeNames(of: target, path)
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
        _ name: String, of url: URL, followsLinks: Bool = true
    ) async throws -> Data? {
        let path = try Path.of(url, for: "read an attribute of")
        let name = try Self.name(name, path)
        return try await run { [system] _ in
            try Self.with(path, followsLinks) { target throws(FileError) in
                try system.attribute(name, of: target, path).map { Data($0) }
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
        followsLinks: Bool = true
    ) async throws {
        let path = try Path.of(url, for: "set an attribute of")
        let name = try Self.name(name, path)
        try await run { [system] _ in
            try Self.with(path, followsLinks) { target throws(FileError) in
                try system.setAttribute(name, of: target, to: value, writing, path)
            }
        }
    }

    /// Removes an extended attribute.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``: ``FileError/Code/noAttribute`` if the file has no attribute with this name. See
    ///   removexattr(2).
    public func removeExtendedAttribute(_ name: String, of url: URL, followsLinks: Bool = true) async throws {
        let path = try Path.of(url, for: "remove an attribute of")
        let name = try Self.name(name, path)
        try await run { [system] _ in
            try Self.with(path, followsLinks) { target throws(FileError) in
                try system.removeAttribute(name, of: target, path)
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
        _ path: String, _ followsLinks: Bool, _ body: (MetadataCalls.Target) throws(FileError) -> R
    ) throws(FileError) -> R {
        let path = Array(path.utf8CString)
        return try path.withUnsafeBufferPointer { path throws(FileError) in
            try body(.path(path.baseAddress!, followsLinks: followsLinks))
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

// MARK: - System calls

// Extended attributes. Like file names, their names are zero-terminated bytes. See xattr(7).
extension SystemInterface {
    static var maximumAttributeAttempts: Int { 100 }

    func attributeNames(of target: MetadataCalls.Target, _ path: String) throws(FileError) -> [[CChar]] {
        let list = try growing("list the attributes of", path) { calls.metadata.listAttributes(target, $0) }
        return list.split(separator: 0).map { name in name.map { CChar(bitPattern: $0) } + [0] }
    }

    func attribute(
        _ name: [CChar], of target: MetadataCalls.Target, _ path: String
    ) throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            return try growing(Self.operation("read", name), path) { buffer in
                name.withUnsafeBufferPointer { calls.metadata.attribute(target, $0.baseAddress!, buffer) }
            }
        } catch  where error.systemError == ENODATA {
            return nil
        }
    }

    func setAttribute(
        _ name: [CChar], of target: MetadataCalls.Target, to value: some ContiguousBytes,
        _ writing: AttributeWriting, _ path: String
    ) throws(FileError) {
        let result = value.withUnsafeBytes { value in
            name.withUnsafeBufferPointer { name in
                retrying { calls.metadata.setAttribute(target, name.baseAddress!, value, writing) }
            }
        }
        try checkAttribute(result, "set", name, path)
    }

    func removeAttribute(_ name: [CChar], of target: MetadataCalls.Target, _ path: String) throws(FileError) {
        let result = retrying {
            name.withUnsafeBufferPointer { calls.metadata.removeAttribute(target, $0.baseAddress!) }
        }
        try checkAttribute(result, "remove", name, path)
    }

    /// Returns the bytes from a call that fails with ERANGE if its buffer is too small, and returns the size if its buffer is empty.
    private func growing(
        _ operation: @autoclosure () -> String, _ path: String, _ call: (UnsafeMutableRawBufferPointer) -> Int
    ) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        var result = 0
        for _ in 0..<Self.maximumAttributeAttempts {
            result = retrying { bytes.withUnsafeMutableBytes { call($0) } }
            guard result == -Int(ERANGE) else { break }
            let needed = retrying { call(UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
            try check(needed, operation(), path)
            // The value may grow again before the next attempt.
            bytes = [UInt8](repeating: 0, count: needed + 256)
        }
        try check(result, operation(), path)
        return Array(bytes.prefix(result))
    }

    private func checkAttribute(_ result: CInt, _ verb: String, _ name: [CChar], _ path: String) throws(FileError) {
        guard result < 0 else { return }
        var error = FileError(operation: Self.operation(verb, name), path: path, systemError: -result)
        switch -result {
        case EOPNOTSUPP, ENOTSUP:
            error.remedy =
                "Begin the name with 'user.' on Linux, or use a file system that supports extended attributes."
        case ERANGE:
            error.code = .nameTooLong
            error.remedy = "Choose a name of 1 to 255 bytes (127 on Apple platforms)."
        case ENOSPC:
            error.remedy = "Free space on the device, or store a smaller value, of at most 4 KB on ext4."
        case EPERM, EACCES:
            error.remedy =
                "Check the owner and the mode, and on Linux use a name that begins with 'user.' and a file or directory."
        default: break
        }
        throw error
    }

    private static func operation(_ verb: String, _ name: [CChar]) -> String {
        let name = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(verb) the attribute '\(name)' of"
    }
}
