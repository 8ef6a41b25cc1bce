internal import CSluiceFiles

// Atomic replacement. The guarantees depend on the order of the steps:
//
//      1 create temporary file    in the destination's directory, so on the same file system
//      2 write
//      3 rights                   only if a file is replaced. Until then, only this process's user can open the temporary file.
//                                 Extended attributes that the caller wants
//      4 sync                     depends on the durability: the bytes are on the device before the rename
//      5 close                    reports delayed write errors (NFS, quotas) while the destination is unchanged
//      6 rename
//      7 sync the directory       depends on the durability
//
// A temporary file with a chosen name is locked until the rename. In that case step 5 comes after step 6, because closing releases the
// lock.
extension SystemInterface {
    /// - Parameter onWritten: Called with the descriptor of the temporary file when it has its bytes and rights.
    func replaceFile(
        _ path: String, with bytes: UnsafeRawBufferPointer, _ options: FileWriteOptions,
        _ progress: ProgressCounter? = nil, onWritten: (CInt) -> Void = { _ in }
    ) throws(FileError) {
        // The last step refuses a name that is taken. Only for many bytes is it cheaper to look before.
        let looksFirst = options.existing == .replace || bytes.count > Self.smallFile
        let replaced = looksFirst ? try statusOfReplaced(path, options.existing, for: "write") : nil
        let directory = Path.directory(of: path)
        let permissions = replaced == nil ? options.permissions.rawValue : Self.privateFile
        let temporary: RawFile
        if let name = options.temporaryName {
            try checkTemporaryName(name, for: path)
            temporary = try createLocked(
                Path.join(directory, name), permissions: permissions, for: "create temporary file")
        } else {
            temporary = try createTemporary(in: directory, permissions: permissions)
        }

        let hasChosenName = options.temporaryName != nil
        var descriptor: CInt? = temporary.descriptor
        do {
            try write(temporary.descriptor, bytes, temporary.path, progress)
            if let replaced,
                let rights = try rightsForReplacing(
                    path, known: replaced, permissions: options.permissions.rawValue)
            {
                try give(rights, to: temporary.descriptor, temporary.path)
            }
            for (name, value) in options.attributes {
                try? setAttribute(
                    Array(name.utf8CString), of: .descriptor(temporary.descriptor), to: value, .createOrReplace,
                    temporary.path)
            }
            try sync(temporary.descriptor, options.durability, temporary.path)
            onWritten(temporary.descriptor)
            if !hasChosenName {
                descriptor = nil
                try close(temporary.descriptor, temporary.path)
            }
            try publish(temporary.path, as: path, options.existing)
        } catch {
            // Remove first: while this process holds the lock, it owns the name.
            unlinkQuietly(temporary.path)
            if let descriptor { closeQuietly(descriptor, isLocked: temporary.isLocked) }
            throw error
        }
        if let descriptor { try close(descriptor, isLocked: temporary.isLocked, path) }
        if options.durability == .fullAndDirectory { try syncDirectory(of: path) }
        progress?.finish()
    }

    /// If the name is taken, throws the same error as a look before the write.
    private func publish(_ temporary: String, as path: String, _ existing: ExistingFile) throws(FileError) {
        do throws(FileError) {
            try renameUnique(temporary, to: path, existing: existing)
        } catch {
            guard error.systemError == EEXIST else { throw error }
            throw FileError(operation: "write", path: path, systemError: EEXIST)
        }
    }

    private func write(
        _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, _ path: String, _ progress: ProgressCounter?
    ) throws(FileError) {
        guard let progress else { return try write(descriptor, bytes, path) }
        var done = 0
        while done < bytes.count {
            let piece = UnsafeRawBufferPointer(
                rebasing: bytes.dropFirst(done).prefix(ProgressCounter.bytesPerReport))
            try write(descriptor, piece, after: done, path)
            done += piece.count
            progress.add(bytes: piece.count)
        }
    }

    private static var smallFile: Int { 256 << 10 }

    /// The mode of a file that gets its final rights once its bytes are written.
    static var privateFile: UInt32 { 0o600 }

    /// Returns the rights of the file that is replaced. They are read once the bytes are written, which may take a while. If the file was
    /// removed in the meantime, returns the rights of a new file. `known` is its status from before.
    func rightsForReplacing(
        _ path: String, known: RawStatus, permissions: UInt32
    ) throws(FileError) -> AccessRights? {
        if let rights = try rights(of: path, known: known) { return rights }
        return try rightsOfNewFile(in: Path.directory(of: path), permissions: permissions)
    }

    private func checkTemporaryName(_ name: String, for path: String) throws(FileError) {
        let isName = !name.isEmpty && name != "." && name != ".." && !name.utf8.contains { $0 == 0 || $0 == 0x2F }
        guard isName, name != Path.name(of: path) else {
            throw FileError(
                code: .invalidPath, operation: "create temporary file", path: name,
                remedy: "Pass a name without slashes that isn't the destination's name.")
        }
    }

    /// Returns the status of the file to replace, or `nil` if there is none or its rights don't matter. Throws if it can't be
    /// replaced.
    func statusOfReplaced(
        _ path: String, _ existing: ExistingFile, for operation: String
    ) throws(FileError) -> RawStatus? {
        guard let status = try status(of: path, followsLinks: false) else { return nil }
        if existing != .replace { throw FileError(operation: operation, path: path, systemError: EEXIST) }
        if status.isDirectory { throw FileError(operation: operation, path: path, systemError: EISDIR) }
        if status.isSymbolicLink { return nil }
        guard status.isRegularFile else {
            throw FileError(
                code: .notRegularFile, operation: "replace", path: path,
                remedy: "Open it for writing instead, because only a regular file can be replaced.")
        }
        return status
    }

    func createTemporary(in directory: String, permissions: UInt32) throws(FileError) -> RawFile {
        try withUniquePath(in: directory) { path throws(FileError) in
            let descriptor = try open(
                path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions, for: "create temporary file")
            return RawFile(descriptor: descriptor, path: path, status: RawStatus())
        }
    }
}
