internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data {
    /// Reads a whole file.
    ///
    ///     let data = try await Data(asyncContentsOf: url)
    ///     let page = try await Data(asyncContentsOf: url, maximumSize: 16 << 20)            // a file that others chose
    ///     let index = try await Data(asyncContentsOf: other, options: .mappedIfSafe)
    ///
    /// The method reads until the end, whatever size the file reports, so it also reads files in /proc and /sys, files that grow
    /// during the read, and FIFOs. Memory is bounded by the bytes read. See open(2), read(2), fifo(7).
    ///
    /// There is no limit by default, as with `Data(contentsOf:)`. Set `maximumSize` for a file that someone else chose: it may be very
    /// large, or endless, like `/dev/zero`.
    ///
    /// The call is one job. A small file that is in the page cache may be read on the calling thread (see ``FileIO/Lane/inline``).
    /// A FIFO or terminal uses a thread only while it is opened, not while the call waits for its writers, and reports its progress
    /// only at the end. To map the file into memory instead of reading it, see ``FileReadOptions/mappedIfSafe``.
    ///
    /// - Precondition: `maximumSize` isn't negative.
    /// - Cancellation: A queued or waiting call throws `CancellationError` immediately. A running read throws it between system calls.
    /// - Failure: A ``FileError``: ``FileError/Code/limitExceeded`` if the file has more than `maximumSize` bytes,
    ///   ``FileError/Code/exhausted`` if it doesn't fit into memory.
    public init(
        asyncContentsOf url: URL, options: FileReadOptions = [], maximumSize: Int = .max,
        using files: FileIO = .shared, progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        precondition(maximumSize >= 0, "The maximum size must not be negative; it is \(maximumSize).")
        let path = try Path.of(url, for: "read")
        try FileIO.checkCancellation()
        let contents: FileContents
        let mayMap = options.contains(.mappedIfSafe)
        if progress == nil, !mayMap, let inline = files.contentsInline(of: path, limit: maximumSize) {
            contents = inline
        } else {
            contents = try await files.run { [files] cancellation in
                try files.system.readFile(path, limit: maximumSize, mayMap: mayMap, files, cancellation, progress)
            }
        }
        switch contents {
        case .whole(let data): self = data
        case .mapped(let mapping): self = mapping.data
        case .waitedFor(let file):
            self = try await scoped {
                try await file.readWhenReady { try await $0.readToEnd(limit: maximumSize, after: &$1) }
            } finally: {
                try await file.close()
            }
            progress?(FileProgress(completedBytes: Int64(count), isFinished: true))
        }
    }
}

/// Options for reading a whole file. See `Data.init(asyncContentsOf:options:maximumSize:using:progress:)`.
public struct FileReadOptions: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public var rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Maps the file into memory if that is safe. Otherwise the file is read.
    ///
    /// Mapping is safe for a regular file that isn't empty and is on a local file system: ext4, XFS, Btrfs, F2FS or tmpfs on Linux, a local
    /// volume on Apple platforms. Everything else is read: pipes, devices, files in /proc and /sys, files on NFS, SMB or FUSE mounts (a
    /// lost connection would kill the process), and files on an overlay (its layers may be anywhere).
    ///
    /// The risks are the same as for a ``MappedFile``. An access may block the thread, and there is no ``MappedFile/prefetch(_:)`` for a
    /// `Data`. **If another process truncates the file, this process may crash**, so map only files that are never truncated in place. If
    /// another process writes to the file in place, the data changes. Changing the data doesn't change the file.
    ///
    /// After the last copy of the data is gone, the file is unmapped on a thread of the engine. See mmap(2).
    public static let mappedIfSafe = Self(rawValue: 1 << 0)
}

// MARK: - Writing

extension Data {
    /// Writes a whole file atomically: the path always leads to the complete old file or the complete new one.
    ///
    ///     try await data.asyncWrite(to: url)
    ///     try await data.asyncWrite(to: other, options: .init(durability: .none))         // faster; a power failure may lose it
    ///
    /// By default, the bytes are on disk before the file gets its name (``Durability/full``). On the benchmark machine's SSD, that cuts the
    /// rate for 4 KiB files by 40%. It still writes as many files per second as `Data.write(to:options: .atomic)`. Choose
    /// ``Durability/none`` for contents that can be regenerated, such as a cache.
    ///
    /// One job creates a temporary file in the same directory, writes and syncs it, renames it, and syncs the directory, as
    /// `durability` requires. If a step fails, the temporary file is removed and the destination is unchanged. Only two failures are
    /// reported after the new file is in place: a failed sync of the directory, and, with a chosen temporary name, a failed close.
    /// See rename(2), fsync(2).
    ///
    /// The directory must exist. The new file keeps the mode of the replaced one. A symbolic link at the destination is replaced, not
    /// followed. A device, FIFO or socket is refused.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately, and nothing is written. Once started, the write
    ///   completes. To save state in a task that is already cancelled, see ``FileIO/uninterrupted(_:)``.
    /// - Failure: A ``FileError``. Its `bytesWritten` counts bytes in the temporary file, which is removed.
    public func asyncWrite(
        to url: URL, options: FileWriteOptions = .init(), using files: FileIO = .shared,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws {
        let path = try Path.of(url, for: "write")
        try await files.run { [self, system = files.system] _ in
            try withUnsafeBytes { bytes in
                try system.replaceFile(
                    path, with: bytes, options, ProgressCounter(progress, totalBytes: Int64(bytes.count)))
            }
        }
    }

    /// The same as ``asyncWrite(to:options:using:progress:)`` with the URL of a name in a directory. Returns the status that the file had
    /// when it got its name, or `nil` if that can't be read.
    package func asyncWriteWithStatus(
        to name: String, in directory: KnownDirectory, options: FileWriteOptions, using files: FileIO
    ) async throws -> FileStatus? {
        let path = Path.join(try directory.path.get(), name)
        return try await files.run { [self, system = files.system] _ in
            try withUnsafeBytes { bytes in
                var status: RawStatus?
                try system.replaceFile(path, with: bytes, options) {
                    status = try? system.status(ofDescriptor: $0, path)
                }
                return status.map { FileStatus($0) }
            }
        }
    }
}

/// Options for writing a whole file. See `Data.asyncWrite(to:options:using:)`.
public struct FileWriteOptions: Sendable, Hashable {
    /// What is guaranteed after a power failure.
    public var durability: Durability

    /// What happens if a file is at the destination: it's replaced by default. `.skip` is the same as `.fail`.
    public var existing: ExistingFile

    /// The name of the temporary file in the destination's directory, or `nil` for a unique, hidden name (`.sluice-…`).
    ///
    /// If the process is killed, a file with a unique name stays, but one with a chosen name is removed by the next write with
    /// that name. It is locked while it is written: a second writer gets ``FileError/Code/locked``. Where the file system has no locks
    /// (see ``FileLock``), two writers with the same name aren't kept apart.
    ///
    /// Choose a name only in a directory where no other user can create a file with that name. A symbolic link there throws
    /// ``FileError/Code/tooManyLinks``, and anything else that isn't a regular file throws ``FileError/Code/notRegularFile``.
    public var temporaryName: String?

    /// The mode of a new file, as masked by the umask.
    ///
    /// A file that replaces another one gets the old file's owner, group, mode and access control list. Until its bytes are written, only
    /// its owner can open it. If the process isn't allowed to set some of these, or the file system can't store them, access is never
    /// widened:
    ///
    /// - With a different owner or group, the file loses its set-user-ID and set-group-ID bits, and the group and everyone else get only
    ///   the access that both had before.
    /// - Without its list, the group and everyone else get only the access that every user and group on the list also had.
    ///
    /// Other extended attributes, such as capabilities, aren't kept.
    public var permissions: FilePermissions

    /// Extended attributes that the file has when it gets its name, as far as the file system can store them.
    package var attributes: [String: Data] = [:]

    /// Creates options. By default the file is replaced atomically and is on the device before the call returns.
    public init(
        durability: Durability = .full, existing: ExistingFile = .replace, temporaryName: String? = nil,
        permissions: FilePermissions = .newFile
    ) {
        self.durability = durability
        self.existing = existing
        self.temporaryName = temporaryName
        self.permissions = permissions
    }
}

// MARK: - Reading in one job

enum FileContents: Sendable {
    case whole(Data)
    case mapped(Mapping)
    /// A file that is waited for, such as a FIFO. It is open but hasn't been read.
    case waitedFor(OpenFile)
}

extension SystemInterface {
    /// Opens a file, reads it to its end and closes it, unless it must be waited for. Tells the inline lane whether it may open the next
    /// file in this directory.
    func readFile(
        _ path: String, limit: Int, mayMap: Bool, _ files: FileIO, _ cancellation: borrowing Cancellation,
        _ progress: (@Sendable (FileProgress) -> Void)?
    ) throws -> FileContents {
        let opened = try openWithoutWaiting(path, O_RDONLY)
        let descriptor = opened.descriptor
        if opened.isWaitedFor { return .waitedFor(OpenFile(opened, files)) }
        if mayMap, let memory = mapIfSafe(descriptor, opened.status, limit: limit) {
            closeQuietly(descriptor)  // Only read from, so no write error can be lost.
            let counter = ProgressCounter(progress, totalBytes: Int64(memory.count))
            counter?.add(bytes: memory.count)
            counter?.finish()
            return .mapped(Mapping(memory, path, files))
        }
        let bytes: ReadBuffer
        let counter: ProgressCounter?
        do {
            files.inline.learn(path, descriptor, opened.status, self)
            // Only a hint for the first allocation.
            let size = opened.status.size
            counter = ProgressCounter(progress, totalBytes: size > 0 ? size : nil)
            bytes = try readToEnd(
                descriptor, limit: limit, expected: Int(clamping: max(0, size)), path, cancellation, counter)
        } catch {
            closeQuietly(descriptor)
            throw error
        }
        try close(descriptor, path)
        counter?.finish()
        return .whole(bytes.data())
    }
}

// MARK: - Files of a known size

// Files whose size is known from elsewhere, such as an index. A different size or kind of file is a result, not an error.
extension FileIO {
    /// Reads a regular file that has `size` bytes, in one job. Returns `nil` if it has a different size, or is a different kind of file.
    ///
    /// A symbolic link at the end of the path isn't followed (``FileError/Code/tooManyLinks``). A FIFO is opened, but not waited for.
    package func contents(of url: URL, size: Int) async throws -> Data? {
        let path = try Path.of(url, for: "read")
        if let data = contentsWithoutWaiting(ofPath: path, size: size) { return data }
        return try await run { [self] cancellation in
            let opened = try system.openWithoutWaiting(path, O_RDONLY | O_NOFOLLOW)
            let bytes: ReadBuffer
            do {
                guard opened.status.isRegularFile, opened.status.size == Int64(size) else {
                    system.closeQuietly(opened.descriptor)
                    return nil
                }
                inline.learn(path, opened.descriptor, opened.status, system)
                bytes = try system.readToEnd(
                    opened.descriptor, limit: size, expected: size, path, cancellation)
            } catch {
                system.closeQuietly(opened.descriptor)
                throw error
            }
            try system.close(opened.descriptor, path)
            return bytes.count == size ? bytes.data() : nil
        }
    }

    /// Reads a regular file that has `size` bytes on the calling thread, if all bytes are in memory. Otherwise returns `nil`; then
    /// ``contents(of:size:)`` finds out why.
    package func contentsWithoutWaiting(ofPath path: String, size: Int) -> Data? {
        guard case .whole(let data) = contentsInline(of: path, limit: size), data.count == size else { return nil }
        return data
    }

    /// Reads a part of a regular file that has `size` bytes on the calling thread, if the part is in memory. Otherwise returns `nil`.
    package func contentsWithoutWaiting(ofPath path: String, size: Int, part: Range<Int>) -> Data? {
        guard case .whole(let data) = contentsInline(of: path, size: size, part: part) else { return nil }
        return data
    }

    /// Lets files in subdirectories be read inline, before another lane has opened one in each of them, if the directory is on a local file
    /// system. For directories of one program, where nobody mounts other file systems.
    package func expectLocalSubdirectories(of directory: URL) async throws {
        let path = try Path.of(directory, for: "read")
        try await run { [system, inline] _ in
            let descriptor = try system.open(path, O_RDONLY | O_DIRECTORY)
            defer { system.closeQuietly(descriptor) }
            var status = RawStatus()
            guard inline.isOpen, system.calls.statusOfDescriptor(descriptor, &status) == 0,
                system.calls.inline.isLocal(descriptor) == 1
            else { return }
            let name = path.hasSuffix("/") ? String(path.dropLast()) : path
            inline.localDirectories.learn(subdirectoriesOf: name, device: status.device)
        }
    }

    /// Creates a file with its bytes, in one job. Unlike `Data.asyncWrite(to:options:using:)`, the name leads to a partial file while the
    /// bytes are being written, or if the process is killed. After an error, the file doesn't exist. Throws ``FileError/Code/exists`` if
    /// the name is taken.
    package func create(_ url: URL, contents: Data, permissions: FilePermissions) async throws {
        let path = try Path.of(url, for: "write")
        try await run { [system] _ in try system.create(path, contents, permissions) }
    }

    /// Creates several files with their bytes, in one job, like ``create(_:contents:permissions:)``. Returns the error of each file that
    /// couldn't be created.
    package func create(
        _ contents: [(url: URL, bytes: Data)], permissions: FilePermissions
    ) async throws -> [FileError?] {
        let contents = try contents.map { (path: try Path.of($0.url, for: "write"), bytes: $0.bytes) }
        return try await run { [system] _ in
            contents.map { path, bytes in
                do throws(FileError) {
                    try system.create(path, bytes, permissions)
                    return nil
                } catch {
                    return error
                }
            }
        }
    }
}

extension SystemInterface {
    fileprivate func create(_ path: String, _ contents: Data, _ permissions: FilePermissions) throws(FileError) {
        let descriptor = try open(path, O_WRONLY | O_CREAT | O_EXCL, permissions: permissions.rawValue)
        do throws(FileError) {
            let failure = contents.withUnsafeBytes { bytes -> FileError? in
                do throws(FileError) {
                    try write(descriptor, bytes, path)
                    return nil
                } catch {
                    closeQuietly(descriptor)
                    return error
                }
            }
            if let failure { throw failure }
            try close(descriptor, path)
        } catch {
            unlinkQuietly(path)
            throw error
        }
    }
}
