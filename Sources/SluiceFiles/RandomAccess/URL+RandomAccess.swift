internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// Opens the file for random access, hands it to `body`, and closes it on every path.
    ///
    ///     let pages = try await url.withRandomAccessFile { file in
    ///         try await withThrowingTaskGroup { group in
    ///             for page in wanted { group.addTask { try await file.read(at: page * 4096, upToCount: 4096) } }
    ///             return try await group.reduce(into: []) { $0.append($1) }
    ///         }
    ///     }
    ///
    /// A `file` that `body` hands on is closed too: operations of tasks that outlive the scope throw.
    ///
    /// - Cancellation: as in the operations; the file is closed also when the task is cancelled.
    /// - Failure: a ``FileError`` from opening or closing, or what `body` throws. What `body` wrote stays.
    public func withRandomAccessFile<R>(
        _ access: FileAccess = .readOnly, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared, _ body: (RandomAccessFile) async throws -> R
    ) async throws -> R {
        let file = try await openForRandomAccess(access, permissions: permissions, using: files)
        return try await scoped {
            try await body(file)
        } finally: {
            try await file.close()
        }
    }

    /// Opens the file for random access.
    ///
    ///     let database = try await url.openForRandomAccess(.createIfMissing, permissions: 0o600)
    ///
    /// Nothing is cut off. A directory is ``FileError/Code/isDirectory``; a FIFO or socket, which has no offsets, is
    /// ``FileError/Code/notRegularFile`` immediately: its other end is not waited for. See open(2).
    ///
    /// - Cancellation: leaves the queue immediately with `CancellationError`. Once begun it is awaited, and a file that was
    ///   opened is returned.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - access: Whether the file is written too, and whether it may, or must, be created.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - files: The engine to run on.
    public func openForRandomAccess(
        _ access: FileAccess = .readOnly, permissions: FilePermissions = .newFile,
        using files: FileIO = .shared
    ) async throws -> RandomAccessFile {
        let path = try Path.of(self, for: "open")
        let flags =
            switch access {
            case .readOnly: O_RDONLY
            case .readWrite: O_RDWR
            case .createIfMissing: O_RDWR | O_CREAT
            case .createNew: O_RDWR | O_CREAT | O_EXCL
            }
        return try await files.run { _ in
            RandomAccessFile(OpenFile(try files.kernel.openSeekable(path, flags, permissions.rawValue), files))
        }
    }
}

extension Kernel {
    /// Opens what has offsets, and waits for no other process, such as the other end of a FIFO.
    func openSeekable(_ path: String, _ flags: CInt, _ permissions: UInt32 = 0) throws(FileError) -> OpenedFile {
        let opened: OpenedFile
        do throws(FileError) {
            opened = try openWithoutWaiting(path, flags, permissions: permissions)
        } catch {
            // A socket on Linux, on Apple platforms.
            guard [ENXIO, EOPNOTSUPP].contains(error.systemError) else { throw error }
            throw Self.hasNoOffsets(path, error.systemError)
        }
        let refusal: FileError? =
            if opened.status.isDirectory {
                FileError(operation: "open", path: path, systemError: EISDIR)
            } else if opened.status.isPipeOrSocket {
                Self.hasNoOffsets(path)
            } else { nil }
        guard let refusal else { return opened }
        closeQuietly(opened.descriptor)
        throw refusal
    }

    private static func hasNoOffsets(_ path: String, _ number: CInt = 0) -> FileError {
        FileError(
            code: .notRegularFile, operation: "open", path: path, systemError: number,
            remedy: "A FIFO or socket has no offsets: open it for reading or writing instead.")
    }
}

extension RawStatus {
    fileprivate var isPipeOrSocket: Bool {
        let kind = mode & UInt32(S_IFMT)
        return kind == UInt32(S_IFIFO) || kind == UInt32(S_IFSOCK)
    }
}
