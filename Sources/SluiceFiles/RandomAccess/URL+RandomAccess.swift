internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a file is opened for.
public enum FileAccess: Sendable, Hashable {
    /// Reading. Writing fails.
    case readOnly
    /// Reading and writing.
    case readWrite
}

/// Whether opening a file may create it.
public enum FileCreation: Sendable, Hashable {
    /// It exists, or opening it fails with ``FileError/Code/notFound``.
    case never
    /// It is created if it is missing.
    case ifMissing
    /// It is created, or opening it fails with ``FileError/Code/exists``. Of two that try, one succeeds.
    case mustBeNew
}

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
        _ access: FileAccess = .readOnly, creating: FileCreation = .never, permissions: FilePermissions = .newFile,
        using io: FileIO = .shared, _ body: (RandomAccessFile) async throws -> R
    ) async throws -> R {
        let file = try await openForRandomAccess(access, creating: creating, permissions: permissions, using: io)
        return try await scoped {
            try await body(file)
        } finally: {
            try await file.close()
        }
    }

    /// Opens the file for random access.
    ///
    ///     let database = try await url.openForRandomAccess(.readWrite, creating: .ifMissing, permissions: 0o600)
    ///
    /// Nothing is cut off. A folder is ``FileError/Code/isDirectory``; a FIFO or socket, which has no offsets, is
    /// ``FileError/Code/notRegularFile`` at once: its other end is not waited for. See open(2).
    ///
    /// - Cancellation: leaves the queue at once with `CancellationError`. Once begun it is awaited, and a file that was
    ///   opened is returned.
    /// - Failure: a ``FileError``.
    ///
    /// - Parameters:
    ///   - access: Whether the file is written too.
    ///   - creating: Whether it may, or must, be created.
    ///   - permissions: The mode of a file that is created, less the process's umask.
    ///   - io: The engine to run on.
    public func openForRandomAccess(
        _ access: FileAccess = .readOnly, creating: FileCreation = .never, permissions: FilePermissions = .newFile,
        using io: FileIO = .shared
    ) async throws -> RandomAccessFile {
        let path = try Path.of(self, for: "open")
        var flags = access == .readOnly ? O_RDONLY : O_RDWR
        switch creating {
        case .never: break
        case .ifMissing: flags |= O_CREAT
        case .mustBeNew: flags |= O_CREAT | O_EXCL
        }
        return try await io.run { [flags] _ in
            RandomAccessFile(OpenFile(try io.kernel.openSeekable(path, flags, permissions.rawValue), io))
        }
    }
}

extension Kernel {
    /// Opens what has offsets, and waits for nobody: not for the other end of a FIFO either.
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
