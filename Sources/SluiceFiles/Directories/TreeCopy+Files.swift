internal import CSluiceFiles
internal import Synchronization

extension TreeCopy {
    /// Copies a file, or hard-links it to its first copy. Returns false if the file no longer exists.
    func copyFile(
        _ entry: DirectoryEntry, in directory: OpenDirectory, _ cancellation: borrowing Cancellation
    ) throws -> Bool {
        guard let source = try openIfThere(entry) else { return false }
        defer { kernel.closeQuietly(source.descriptor) }
        if source.status.links > 1, try linkToFirstCopy(of: source.status, as: entry.rawName, in: directory) {
            return true
        }
        let path = directory.place.shownPath(of: entry.rawName)
        let mode: UInt32 = options.keeping.contains(.permissions) ? 0o600 : FilePermissions.newFile.rawValue
        let copy = try kernel.create(entry.rawName, in: directory, mode: mode, path)
        var descriptor: CInt? = copy.descriptor
        do {
            let copied = try kernel.copyContents(of: source, to: copy, progress: counter, cancellation)
            try kernel.copyAttributes(options.keeping, of: source, to: copy)
            try kernel.sync(copy.descriptor, options.durability, path)
            descriptor = nil
            try kernel.close(copy.descriptor, path)
            result.bytes = result.bytes.addingOrMaximum(copied.bytes)
        } catch {
            _ = entry.rawName.withCString { name in
                kernel.retrying { kernel.calls.unlinkAt(directory.descriptor, name, 0) }
            }
            if let descriptor { kernel.closeQuietly(descriptor) }
            throw error
        }
        if source.status.links > 1 {
            firstCopies[FileIdentity(source.status)] = FirstCopy(
                place: directory.place, name: entry.rawName, identity: FileIdentity(copy.status))
        }
        return true
    }

    private func openIfThere(_ entry: DirectoryEntry) throws(FileError) -> OpenedFile? {
        do throws(FileError) {
            return try kernel.openRegularFile(entry, O_RDONLY, followingLinks: false)
        } catch {
            if error.systemError == ENOENT { return nil }
            throw error
        }
    }

    /// Creates a hard link to the first copy of a file. Returns false if that isn't possible, and the caller must copy the file.
    private func linkToFirstCopy(
        of status: RawStatus, as name: DirectoryEntry.Name, in directory: OpenDirectory
    ) throws(FileError) -> Bool {
        guard let first = firstCopies[FileIdentity(status)] else { return false }
        guard let firstDirectory = try? openAgain(first.place) else { return false }
        let linked = first.name.withCString { from in
            name.withCString { to in
                kernel.retrying {
                    kernel.calls.directories.linkAt(firstDirectory.descriptor, from, directory.descriptor, to)
                }
            }
        }
        guard linked == 0 else { return false }
        // Another process may have put a different file under the first name.
        if let found = try kernel.status(of: name, in: directory, followingLinks: false),
            FileIdentity(found) == first.identity
        {
            return true
        }
        let unlinked = name.withCString { name in
            kernel.retrying { kernel.calls.unlinkAt(directory.descriptor, name, 0) }
        }
        try kernel.check(unlinked, "remove", directory.place.shownPath(of: name))
        return false
    }

    /// Opens a directory of the copy by its names from the top, without following links.
    private func openAgain(_ place: DirectoryPlace) throws(FileError) -> OpenDirectory {
        let names = place.names
        guard let top = levels[0].directory else {
            // The top was closed to save descriptors. Opens it by its path, and checks that it is the same directory.
            let path = levels[0].place.shownPath()
            let directory = try OpenDirectory(
                try kernel.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, for: "copy to"), levels[0].place, io)
            guard FileIdentity(directory.status) == levels[0].identity else {
                throw FileError(code: .replaced, operation: "copy to", path: path)
            }
            return try open(names, below: directory)
        }
        return try open(names, below: top)
    }

    private func open(_ names: [DirectoryEntry.Name], below top: OpenDirectory) throws(FileError) -> OpenDirectory {
        var directory = top
        for name in names {
            let descriptor = try kernel.openDirectory(name, in: directory, followingLinks: false)
            directory = try OpenDirectory(descriptor, DirectoryPlace(name, in: directory.place), io)
        }
        return directory
    }

    // MARK: Links and FIFOs

    func makeFIFO(_ name: DirectoryEntry.Name, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) {
        let made = name.withCString { name in
            kernel.retrying { kernel.calls.directories.makeFIFOAt(directory.descriptor, name, status.permissions) }
        }
        try kernel.check(made, "create FIFO", directory.place.shownPath(of: name))
        try copyAttributes(status, to: name, in: directory)
    }

    /// Creates a link with the same target. Returns false if the original link no longer exists.
    func copyLink(_ entry: DirectoryEntry, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) -> Bool {
        let directories = kernel.calls.directories
        let (read, made) = entry.rawName.withCString { name in
            withUnsafeTemporaryAllocation(byteCount: Self.longestTarget + 2, alignment: 1) { buffer -> (Int, CInt) in
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer.dropLast())
                let count = kernel.retrying { directories.readLinkAt(entry.directory.descriptor, name, room) }
                if count < 0 { return (count, 0) }
                // readlinkat(2) truncates without an error, so a result is complete only if it leaves room in the buffer.
                if count == room.count { return (-Int(ENAMETOOLONG), 0) }
                buffer[count] = 0
                let target = UnsafePointer(buffer.baseAddress!.assumingMemoryBound(to: CChar.self))
                return (count, kernel.retrying { directories.symbolicLinkAt(target, directory.descriptor, name) })
            }
        }
        if read == -Int(ENOENT) { return false }
        try kernel.check(read, "read the symbolic link", entry.shownPath)
        try kernel.check(made, "create symbolic link", directory.place.shownPath(of: entry.rawName))
        try copyAttributes(status, to: entry.rawName, in: directory)
        return true
    }

    /// Copies the attributes that can be set without opening the file and without following a link that has taken its place.
    private func copyAttributes(_ status: RawStatus, to name: DirectoryEntry.Name, in directory: OpenDirectory)
        throws(FileError)
    {
        let directories = kernel.calls.directories
        let path = directory.place.shownPath(of: name)
        if options.keeping.contains(.owner) {
            let result = name.withCString { name in
                kernel.retrying { directories.changeOwnerAt(directory.descriptor, name, status.user, status.group) }
            }
            try kernel.check(result, "set the owner of", path)
        }
        if options.keeping.contains(.times) {
            let result = name.withCString { name in
                kernel.retrying { directories.setTimesAt(directory.descriptor, name, status.modified, status.accessed) }
            }
            try kernel.check(result, "set the times of", path)
        }
    }

    /// PATH_MAX, the longest target of a link.
    private static var longestTarget: Int { 4096 }
}

extension Kernel {
    fileprivate func create(
        _ name: DirectoryEntry.Name, in directory: OpenDirectory, mode: UInt32, _ path: String
    ) throws(FileError) -> OpenedFile {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = name.withCString { name in
            retrying { calls.directories.createAt(directory.descriptor, name, flags, mode) }
        }
        try check(descriptor, "create", path)
        openCount.add(1, ordering: .relaxed)
        do throws(FileError) {
            let status = try status(ofDescriptor: descriptor, path)
            return OpenedFile(descriptor: descriptor, path: path, status: status)
        } catch {
            _ = name.withCString { name in retrying { calls.unlinkAt(directory.descriptor, name, 0) } }
            closeQuietly(descriptor)
            throw error
        }
    }
}
