internal import CSluiceFiles

// Opening without waiting for anybody at the other end.
extension Kernel {
    /// Opens a file for reading, or a FIFO whether it has a writer or not. See fifo(7).
    func openToRead(_ path: String) throws(FileError) -> OpenedFile {
        let opened = try openWithoutWaiting(path, O_RDONLY)
        if opened.status.isDirectory {
            closeQuietly(opened.descriptor)
            throw FileError(operation: "open", path: path, systemError: EISDIR)
        }
        return opened
    }

    /// Opens a file for writing; nil for a FIFO without a reader yet.
    func openToWrite(
        _ path: String, _ existing: WriteOpening, _ permissions: UInt32, locked: Bool
    ) throws(FileError) -> OpenedFile? {
        var flags = O_WRONLY | O_CREAT
        switch existing {
        case .replace: flags |= locked ? 0 : O_TRUNC
        case .append: flags |= O_APPEND
        case .fail: flags |= O_EXCL
        }
        if locked {
            return try openLocked(
                path, flags: flags, permissions: permissions, truncating: existing == .replace, for: "open")
        }
        do throws(FileError) {
            return try openWithoutWaiting(path, flags, permissions: permissions)
        } catch {
            // Of a socket or a device it says that nothing is behind it.
            if error.systemError == ENXIO, try status(of: path)?.isFIFO == true { return nil }
            throw error
        }
    }

    /// Opens without waiting for a FIFO's other side or a terminal's carrier, and finds out who is to read or write it.
    ///
    /// What a path leads to is known only once it is open, so O_NONBLOCK is always there first. On a FIFO, a terminal or a
    /// socket it stays: the open file is ours, and no other process shares its flags. Elsewhere it is taken away. For a regular file it
    /// means nothing to open(2) but in one case: where another process holds a lease on it, the open does not wait until that
    /// is broken. Then it is opened again as it would have been without the flag.
    ///
    /// - Parameter isBrief: See ``BriefDescriptors``.
    func openWithoutWaiting(
        _ path: String, _ flags: CInt, permissions: UInt32 = 0, isBrief: Bool = false
    ) throws(FileError) -> OpenedFile {
        let descriptor: CInt
        do throws(FileError) {
            descriptor = try open(path, flags | O_NONBLOCK | O_NOCTTY, permissions: permissions, isBrief: isBrief)
        } catch {
            guard error.systemError == EWOULDBLOCK, try status(of: path)?.isRegularFile == true else { throw error }
            return try withStatus(try open(path, flags, permissions: permissions, isBrief: isBrief), path)
        }
        var opened = try withStatus(descriptor, path)
        opened.isWaitedFor = isWaitedFor(opened)
        // Nothing depends on it where it fails: reading and writing look for EAGAIN.
        if !opened.isWaitedFor { _ = calls.readiness.setFlags(descriptor, flags) }
        return opened
    }

    private func isWaitedFor(_ file: OpenedFile) -> Bool {
        switch file.status.mode & UInt32(S_IFMT) {
        case UInt32(S_IFIFO), UInt32(S_IFSOCK): true
        // Terminals and their like; not /dev/null and /dev/zero, and no disk.
        case UInt32(S_IFCHR): calls.readiness.canBeWaitedFor(file.descriptor) == 1
        default: false
        }
    }

    private func withStatus(_ descriptor: CInt, _ path: String) throws(FileError) -> OpenedFile {
        do {
            return OpenedFile(descriptor: descriptor, path: path, status: try status(ofDescriptor: descriptor, path))
        } catch {
            closeQuietly(descriptor)
            throw error
        }
    }
}

/// A descriptor with what was learnt when it was opened.
struct OpenedFile: Sendable {
    var descriptor: CInt
    var path: String
    var status: RawStatus
    /// Whether it is a FIFO, terminal or socket, opened as non-blocking, for the readiness lane.
    var isWaitedFor = false
}
