#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// The entries of a directory, "." and ".." left out, in the directory's own order, which is none.
    ///
    ///     let songs = try await files.entries(of: music).filter { $0.name.hasSuffix(".mp3") }
    ///
    /// One job. An entry that is added or removed meanwhile may be among them or not; all others are, once each. A directory of
    /// millions is better taken entry by entry: ``listing(of:)``. See getdents64(2).
    ///
    /// - Cancellation: leaves the queue immediately, or stops between two system calls, with `CancellationError`.
    /// - Failure: a ``FileError``; ``FileError/Code/notDirectory`` for a file, ``FileError/Code/limitExceeded`` when there are
    ///   more than `limit`.
    ///
    /// - Parameters:
    ///   - directory: A file URL. A symbolic link to a directory is followed.
    ///   - limit: The most entries to accept.
    public func entries(of directory: URL, limit: Int = 1_000_000) async throws -> [DirectoryEntry] {
        precondition(limit >= 0, "A limit is not negative.")
        let path = try Path.of(directory, for: "list")
        return try await run { [self] cancellation in
            try entries(of: OpenDirectory.open(path, self, for: "list"), limit: limit, cancellation)
        }
    }

    /// The entries of a directory as a sequence that reads some hundred at a time, so that memory does not grow with the directory.
    ///
    ///     for try await entry in files.listing(of: spool) {
    ///         try await process(entry)
    ///     }
    ///
    /// The directory is opened by the first entry and closed after the last; leaving the loop early closes it on a worker. Each
    /// iteration opens it again. Entries that are added or removed meanwhile may come or not; removing those that came is fine.
    ///
    /// - Cancellation: the next entry throws `CancellationError`.
    /// - Failure: a ``FileError``, which ends the sequence.
    public func listing(of directory: URL) -> DirectoryListing {
        DirectoryListing { io throws(FileError) in
            try OpenDirectory.open(try Path.of(directory, for: "list"), io, for: "list")
        } io: {
            self
        }
    }
}

extension DirectoryEntry {
    /// The entries of this directory: see ``FileIO/entries(of:limit:)``. Links are not followed.
    public func entries(limit: Int = 1_000_000) async throws -> [DirectoryEntry] {
        precondition(limit >= 0, "A limit is not negative.")
        return try await directory.io.run { [self] cancellation in
            try directory.io.entries(of: openDirectory(), limit: limit, cancellation)
        }
    }

    /// The entries of this directory as a sequence: see ``FileIO/listing(of:)``. Links are not followed.
    public func listing() -> DirectoryListing {
        DirectoryListing { _ throws(FileError) in
            try openDirectory()
        } io: {
            directory.io
        }
    }

    /// Opens the directory under this name itself.
    func openDirectory(followingLinks: Bool = false) throws(FileError) -> OpenDirectory {
        let descriptor = try kernel.openDirectory(rawName, in: directory, followingLinks: followingLinks)
        return try OpenDirectory(descriptor, DirectoryPlace(rawName, in: directory.place), directory.io)
    }
}

extension FileIO {
    /// The job of listing.
    fileprivate func entries(
        of directory: OpenDirectory, limit: Int, _ cancellation: borrowing Cancellation
    ) throws -> [DirectoryEntry] {
        var raw: [RawDirectoryEntry] = []
        while try kernel.readEntries(of: directory, into: &raw) {
            if raw.count > limit {
                throw FileError(
                    code: .limitExceeded, operation: "list", path: directory.place.shownPath(),
                    remedy: "It holds more than the \(limit) entries allowed: raise `limit`, or take a listing.")
            }
            try cancellation.check()
        }
        return raw.map { DirectoryEntry($0, in: directory) }
    }
}
