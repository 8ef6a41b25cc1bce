internal import CSluiceFiles
internal import Synchronization

// Operations relative to an open folder. Errors show the path by which the folder was opened, and the name.
extension Kernel {
    // MARK: Listing

    /// Appends the next entries; returns false at the end. See getdents(2).
    func readEntries(of folder: OpenFolder, into entries: inout [RawFolderEntry]) throws(FileError) -> Bool {
        let result = retrying { calls.folders.readEntries(folder.descriptor, &entries) }
        // Linux says ENOENT for a folder that was removed while open: it has no entries any more.
        if result == -ENOENT { return false }
        try check(result, "list", folder.place.shownPath())
        return result > 0
    }

    /// Opens a folder below another. With links not followed, it is itself what the name leads to, at the time of the call.
    func openFolder(_ name: FileName, in folder: OpenFolder, followingLinks: Bool) throws(FileError) -> CInt {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followingLinks ? 0 : O_NOFOLLOW)
        let result = name.withCString { name in retrying { calls.openAt(folder.descriptor, name, flags) } }
        try check(result, "open", folder.place.shownPath(of: name))
        openFiles.add(1, ordering: .relaxed)
        return result
    }

    // MARK: Names

    /// The status of a name, or nil if nothing is there. See fstatat(2).
    func status(
        of name: FileName, in folder: OpenFolder, followingLinks: Bool
    ) throws(FileError) -> RawStatus? {
        var status = RawStatus()
        let result = name.withCString { name in
            retrying { calls.folders.statusAt(folder.descriptor, name, followingLinks, &status) }
        }
        if result == -ENOENT || result == -ENOTDIR { return nil }
        try check(result, "look at", folder.place.shownPath(of: name))
        return status
    }

    /// Renames within a folder; with `.fail`, never over an existing file.
    func rename(_ entry: DirectoryEntry, to name: FileName, existing: ExistingFile) throws(FileError) {
        let folder = entry.folder.descriptor
        guard name.isSingle else {
            throw FileError(
                code: .invalidPath, operation: "rename to '\(name)'", path: entry.shownPath,
                remedy: "A name is not empty, \".\" or \"..\", and has no slash and no zero byte.")
        }
        let result = entry.rawName.withCString { from in
            name.withCString { to in
                switch existing {
                case .replace: retrying { calls.folders.renameAt(folder, from, folder, to) }
                case .fail: renameWithoutReplacing(from, to, in: folder)
                }
            }
        }
        try check(result, "rename to '\(name)'", entry.shownPath)
    }

    private func renameWithoutReplacing(_ from: SystemCalls.Path, _ to: SystemCalls.Path, in folder: CInt) -> CInt {
        let calls = calls
        let result = retrying { calls.folders.renameAtWithoutReplacing(folder, from, folder, to) }
        guard RenameInSteps.isWanted(after: result) else { return result }
        return RenameInSteps(
            link: { calls.folders.linkAt(folder, from, folder, to) },
            unlink: { name in calls.unlinkAt(folder, name == .old ? from : to, 0) },
            isFolder: {
                var status = RawStatus()
                let found = calls.folders.statusAt(folder, from, false, &status)
                return found < 0 ? found : status.isDirectory ? 1 : 0
            },
            makeFolder: { calls.folders.makeDirectoryAt(folder, to, 0o700) },
            rename: { calls.folders.renameAt(folder, from, folder, to) },
            removeFolder: { calls.unlinkAt(folder, to, AT_REMOVEDIR) }
        ).run(on: self)
    }

    /// Removes a file or an empty folder.
    func remove(_ entry: DirectoryEntry) throws(FileError) {
        let folder = entry.folder.descriptor
        let result = entry.rawName.withCString { name in
            let unlinked = retrying { calls.unlinkAt(folder, name, 0) }
            // Linux says EISDIR for a folder, POSIX says EPERM.
            guard unlinked == -EISDIR || unlinked == -EPERM else { return unlinked }
            let removed = retrying { calls.unlinkAt(folder, name, AT_REMOVEDIR) }
            // It was a file after all, and the first answer is the true one.
            return removed == -ENOTDIR ? unlinked : removed
        }
        try check(result, "remove", entry.shownPath)
    }

    // MARK: Files

    /// Opens a regular file, and nothing else: a FIFO would keep the thread, a device may act on being opened.
    func openRegularFile(
        _ entry: DirectoryEntry, _ flags: CInt, followingLinks: Bool
    ) throws(FileError) -> OpenedFile {
        let path = entry.shownPath
        switch entry.kind {
        case nil, .file, .symbolicLink, .directory: break
        default: throw Self.notRegular(path)
        }
        // O_NONBLOCK for a FIFO that took the name since then; it means nothing for a regular file.
        let all = flags | O_NONBLOCK | O_CLOEXEC | (followingLinks ? 0 : O_NOFOLLOW)
        let descriptor = entry.rawName.withCString { name in
            retrying { calls.openAt(entry.folder.descriptor, name, all) }
        }
        if descriptor == -ENXIO || descriptor == -ENODEV { throw Self.notRegular(path, -descriptor) }
        try check(descriptor, "open", path)
        openFiles.add(1, ordering: .relaxed)
        do throws(FileError) {
            let status = try status(ofDescriptor: descriptor, path)
            if status.isDirectory { throw FileError(operation: "open", path: path, systemError: EISDIR) }
            guard status.isRegularFile else { throw Self.notRegular(path) }
            return OpenedFile(descriptor: descriptor, path: path, status: status)
        } catch {
            closeQuietly(descriptor)
            throw error
        }
    }

    func openToWrite(_ entry: DirectoryEntry, appending: Bool) throws(FileError) -> OpenedFile {
        let opened = try openRegularFile(entry, O_WRONLY | (appending ? O_APPEND : 0), followingLinks: false)
        if !appending, opened.status.size > 0 {
            do throws(FileError) {
                try check(retrying { calls.truncate(opened.descriptor, 0) }, "empty", opened.path)
            } catch {
                closeQuietly(opened.descriptor)
                throw error
            }
        }
        return opened
    }

    private static func notRegular(_ path: String, _ number: CInt = 0) -> FileError {
        FileError(
            code: .notRegularFile, operation: "open", path: path, systemError: number,
            remedy: "Only regular files are opened as entries: open a FIFO or device by its URL.")
    }
}
