internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a folder says about one of its entries. See stat(2).
public struct FileStatus: Sendable, Hashable {
    /// What something in a file system can be.
    public enum Kind: Sendable, Hashable {
        /// A regular file.
        case file
        /// A folder.
        case directory
        /// A symbolic link: only where links are not followed.
        case symbolicLink
        /// A device, FIFO or socket.
        case other
    }

    /// What it is.
    public var kind: Kind

    /// The size in bytes. Files in /proc and /sys, FIFOs and devices tell no true one.
    public var size: Int

    /// The mode bits, without those of the kind.
    public var permissions: FilePermissions

    /// When the contents last changed.
    public var modificationTime: Date

    init(_ status: RawStatus) {
        kind =
            if status.isRegularFile { .file } else if status.isDirectory { .directory } else if status.isSymbolicLink {
                .symbolicLink
            } else { .other }
        size = Int(clamping: status.size)
        permissions = FilePermissions(rawValue: status.permissions)
        modificationTime = Date(
            timeIntervalSince1970: Double(status.modifiedSeconds) + Double(status.modifiedNanoseconds) / 1e9)
    }
}

extension FileIO {
    /// What is at a path, or nil if nothing is.
    ///
    ///     if let status = try await FileIO.shared.status(of: url), status.kind == .file { … }
    ///
    /// Whatever it says may have changed by the time it returns: to claim a name, use an operation that fails when it is
    /// taken (``WriteOpening/createNew``, ``ExistingFile/fail``).
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - followingLinks: Whether a symbolic link counts as what it points to (then a dangling one is nothing).
    public func status(of url: URL, followingLinks: Bool = true) async throws -> FileStatus? {
        let path = try Path.of(url, for: "look at")
        return try await run { [kernel] _ in
            try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
        }
    }

    /// What is at each of many paths, asked in one job.
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`.
    package func statuses(
        of urls: [URL], followingLinks: Bool = true
    ) async throws -> [Result<FileStatus?, FileError>] {
        try await run { [kernel] _ in
            urls.map { url in
                Result { () throws(FileError) in
                    let path = try Path.of(url, for: "look at")
                    return try kernel.status(of: path, followingLinks: followingLinks).map { FileStatus($0) }
                }
            }
        }
    }
}
