internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// Opens the file for random access, calls `body` with it, and closes it whether `body` returns or throws.
    ///
    /// Operations of tasks that outlive the scope throw, because the file is closed.
    ///
    /// - Cancellation: That of opening and of the operations in `body`. The file is closed even if the task is cancelled.
    /// - Failure: A ``FileError`` from opening or closing, or the error of `body`. Bytes that `body` has written stay in the file.
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

    /// Opens the file for random access. The file isn't truncated. A new file gets the mode `permissions`, less the process's umask.
    ///
    /// A directory throws ``FileError/Code/isDirectory``. A FIFO or socket has no offsets and throws
    /// ``FileError/Code/notRegularFile``, without waiting for its other end. See open(2).
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once the file is open, it is returned.
    /// - Failure: A ``FileError``.
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
    /// Opens a file that has offsets, without waiting for another process such as the other end of a FIFO.
    func openSeekable(_ path: String, _ flags: CInt, _ permissions: UInt32 = 0) throws(FileError) -> OpenedFile {
        let opened: OpenedFile
        do throws(FileError) {
            opened = try openWithoutWaiting(path, flags, permissions: permissions)
        } catch {
            // Opening a socket fails with ENXIO on Linux and EOPNOTSUPP on Apple platforms.
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
            remedy: "Open it for reading or writing instead, because a FIFO or socket has no offsets.")
    }
}

extension RawStatus {
    fileprivate var isPipeOrSocket: Bool {
        let kind = mode & UInt32(S_IFMT)
        return kind == UInt32(S_IFIFO) || kind == UInt32(S_IFSOCK)
    }
}
