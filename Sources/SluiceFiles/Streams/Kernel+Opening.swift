internal import CSluiceFiles

// Opening a file without waiting for another process.
extension Kernel {
    /// Opens a file for reading, even a FIFO without a writer. See fifo(7).
    func openToRead(_ path: String) throws(FileError) -> OpenedFile {
        let opened = try openWithoutWaiting(path, O_RDONLY)
        if opened.status.isDirectory {
            closeQuietly(opened.descriptor)
            throw FileError(operation: "open", path: path, systemError: EISDIR)
        }
        return opened
    }

    /// Opens a file for writing. Returns `nil` for a FIFO that has no reader.
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
            // For a socket or a device, ENXIO means that nothing is behind it.
            if error.systemError == ENXIO, try status(of: path)?.isFIFO == true { return nil }
            throw error
        }
    }

    /// Opens without waiting for a FIFO's other side or a terminal's carrier, and finds out whether the file must be waited for.
    ///
    /// The kind of a file is known only once it is open, so O_NONBLOCK is always set first. On a FIFO, a terminal or a socket it
    /// stays set: no other process shares the flags of this open file. Otherwise it is cleared. It affects the opening of a
    /// regular file only if another process holds a lease. Then the file is opened again without the flag, to wait for the end of
    /// the lease.
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
        // A failure doesn't matter, because reads and writes check for EAGAIN.
        if !opened.isWaitedFor { _ = calls.readiness.setFlags(descriptor, flags) }
        return opened
    }

    private func isWaitedFor(_ file: OpenedFile) -> Bool {
        switch file.status.mode & UInt32(S_IFMT) {
        case UInt32(S_IFIFO), UInt32(S_IFSOCK): true
        // Terminals and similar devices, but not /dev/null, /dev/zero or a disk.
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

struct OpenedFile: Sendable {
    var descriptor: CInt
    var path: String
    var status: RawStatus
    var isWaitedFor = false
    /// Whether the descriptor holds a lock, which has to be released before the close. See `Kernel.close`.
    var isLocked = false
}
