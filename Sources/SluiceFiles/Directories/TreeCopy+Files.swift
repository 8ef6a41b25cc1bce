internal import CSluiceFiles
internal import Synchronization

extension TreeCopy {
    /// Copies a file, or gives its first copy another name. Returns false if it is gone.
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
            result.bytes += copied.bytes
        } catch {
            // No half file stays.
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

    /// Gives the first copy of a file another name. Returns false if there is none, or if that does not work, for whatever
    /// reason: then the file is copied again.
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
        // Somebody may have put another file under the first name.
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

    /// A directory of the copy, by its names from the top and no links between.
    private func openAgain(_ place: DirectoryPlace) throws(FileError) -> OpenDirectory {
        let names = place.names
        guard let top = levels[0].directory else {
            // Closed to save descriptors: the directory at the destination's path, if it still is that.
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
        try kernel.check(made, "make FIFO", directory.place.shownPath(of: name))
        try copyAttributes(status, to: name, in: directory)
    }

    /// Makes a link with the same target. Returns false if the link is gone.
    func copyLink(_ entry: DirectoryEntry, _ status: RawStatus, in directory: OpenDirectory) throws(FileError) -> Bool {
        let directories = kernel.calls.directories
        let (read, made) = entry.rawName.withCString { name in
            withUnsafeTemporaryAllocation(byteCount: Self.longestTarget + 2, alignment: 1) { buffer -> (Int, CInt) in
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer.dropLast())
                let count = kernel.retrying { directories.readLinkAt(entry.directory.descriptor, name, room) }
                if count < 0 { return (count, 0) }
                // What has no room is cut off without a word: only a result that leaves room is whole.
                if count == room.count { return (-Int(ENAMETOOLONG), 0) }
                buffer[count] = 0
                let target = UnsafePointer(buffer.baseAddress!.assumingMemoryBound(to: CChar.self))
                return (count, kernel.retrying { directories.symbolicLinkAt(target, directory.descriptor, name) })
            }
        }
        if read == -Int(ENOENT) { return false }
        try kernel.check(read, "read the link", entry.shownPath)
        try kernel.check(made, "make symbolic link", directory.place.shownPath(of: entry.rawName))
        try copyAttributes(status, to: entry.rawName, in: directory)
        return true
    }

    /// What can be set of a name without opening it, and without following it if another process puts a link in its place.
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

    /// PATH_MAX: no system makes a link to more.
    private static var longestTarget: Int { 4096 }
}

extension Kernel {
    /// Makes a file in a directory; one that is there is an error.
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
