#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// The entries of a folder, "." and ".." left out, in the folder's own order, which is none.
    ///
    ///     let songs = try await io.entries(of: music).filter { $0.name.hasSuffix(".mp3") }
    ///
    /// One job. An entry that is added or removed meanwhile may be among them or not; all others are, once each. A folder of
    /// millions is better taken entry by entry: ``listing(of:)``. See getdents64(2).
    ///
    /// - Cancellation: leaves the queue at once, or stops between two system calls, with `CancellationError`.
    /// - Failure: a ``FileError``; ``FileError/Code/notDirectory`` for a file, ``FileError/Code/limitExceeded`` when there are
    ///   more than `limit`.
    ///
    /// - Parameters:
    ///   - folder: A file URL. A symbolic link to a folder is followed.
    ///   - limit: The most entries to accept.
    public func entries(of folder: URL, limit: Int = 1_000_000) async throws -> [DirectoryEntry] {
        precondition(limit >= 0, "A limit is not negative.")
        let path = try Path.of(folder, for: "list")
        return try await run { [self] cancellation in
            try entries(of: OpenFolder.open(path, self, for: "list"), limit: limit, cancellation)
        }
    }

    /// The entries of a folder as a sequence that reads some hundred at a time, so that memory does not grow with the folder.
    ///
    ///     for try await entry in io.listing(of: spool) {
    ///         try await process(entry)
    ///     }
    ///
    /// The folder is opened by the first entry and closed after the last; leaving the loop early closes it on a worker. Each
    /// iteration opens it anew. Entries that are added or removed meanwhile may come or not; removing those that came is fine.
    ///
    /// - Cancellation: the next entry throws `CancellationError`.
    /// - Failure: a ``FileError``, which ends the sequence.
    public func listing(of folder: URL) -> DirectoryListing {
        DirectoryListing { io throws(FileError) in
            try OpenFolder.open(try Path.of(folder, for: "list"), io, for: "list")
        } io: {
            self
        }
    }
}

extension DirectoryEntry {
    /// The entries of this folder: see ``FileIO/entries(of:limit:)``. Links are not followed.
    public func entries(limit: Int = 1_000_000) async throws -> [DirectoryEntry] {
        precondition(limit >= 0, "A limit is not negative.")
        return try await folder.io.run { [self] cancellation in
            try folder.io.entries(of: openFolder(), limit: limit, cancellation)
        }
    }

    /// The entries of this folder as a sequence: see ``FileIO/listing(of:)``. Links are not followed.
    public func listing() -> DirectoryListing {
        DirectoryListing { _ throws(FileError) in
            try openFolder()
        } io: {
            folder.io
        }
    }

    /// Opens the folder under this name itself.
    func openFolder(followingLinks: Bool = false) throws(FileError) -> OpenFolder {
        let descriptor = try kernel.openFolder(rawName, in: folder, followingLinks: followingLinks)
        return try OpenFolder(descriptor, FolderPlace(rawName, in: folder.place), folder.io)
    }
}

extension FileIO {
    /// The job of listing.
    fileprivate func entries(
        of folder: OpenFolder, limit: Int, _ cancellation: borrowing Cancellation
    ) throws -> [DirectoryEntry] {
        var raw: [RawFolderEntry] = []
        while try kernel.readEntries(of: folder, into: &raw) {
            if raw.count > limit {
                throw FileError(
                    code: .limitExceeded, operation: "list", path: folder.place.shownPath(),
                    remedy: "It holds more than the \(limit) entries allowed: raise `limit`, or take a listing.")
            }
            try cancellation.check()
        }
        return raw.map { DirectoryEntry($0, in: folder) }
    }
}
