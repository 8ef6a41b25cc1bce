internal import CSluiceFiles

extension Kernel {
    /// Copies attributes from one open file or directory to another, after the contents have been written.
    ///
    /// The order matters, since the first steps would undo the last ones: owner (clears set-user-ID), extended attributes (need
    /// permission to write), mode and access control list, times. The times are those of `source` at opening, because reading changes
    /// the access time. The status of `destination` isn't used.
    func copyAttributes(
        _ kept: FileCopyOptions.Attributes, of source: OpenedFile, to destination: OpenedFile
    ) throws(FileError) {
        if kept.contains(.owner) { try copyOwner(of: source, to: destination) }
        if kept.contains(.extendedAttributes) {
            try copyExtendedAttributes(
                of: .descriptor(source.descriptor), source.path, to: .descriptor(destination.descriptor),
                destination.path)
        }
        if kept.contains(.permissions) { try copyMode(of: source, to: destination) }
        if kept.contains(.times) {
            let result = retrying {
                calls.metadata.setTimesOfDescriptor(
                    destination.descriptor, source.status.modified, source.status.accessed)
            }
            try check(result, "set the times of", destination.path)
        }
    }

    private func copyOwner(of source: OpenedFile, to destination: OpenedFile) throws(FileError) {
        let (user, group) = (source.status.user, source.status.group)
        let now = try status(ofDescriptor: destination.descriptor, destination.path)
        if now.user == user, now.group == group { return }
        let result = retrying { calls.metadata.changeOwnerOfDescriptor(destination.descriptor, user, group) }
        try check(result, "set the owner of", destination.path)
    }

    /// Copies the mode and the access control list. FAT and SMB have one mode for all files and refuse to set any. That is ignored: only
    /// such a file system refuses it to the process that has just created the file.
    private func copyMode(of source: OpenedFile, to destination: OpenedFile) throws(FileError) {
        let status = try status(ofDescriptor: destination.descriptor, destination.path)
        let now = AccessRights(status, list: try accessList(of: .descriptor(destination.descriptor), destination.path))
        let list = try accessList(of: .descriptor(source.descriptor), source.path)
        var rights = AccessRights(source.status, list: list)
        // With another owner or group, a program would run as the wrong one. For a directory, set-group-ID is about the group of new files.
        if now.user != rights.user || now.group != rights.group {
            let keepsGroup = status.isDirectory && now.group == rights.group
            rights.mode &= keepsGroup ? 0o3777 : 0o1777
        }
        (rights.user, rights.group) = (now.user, now.group)
        do throws(FileError) {
            try give(rights, to: destination.descriptor, instead: now, destination.path)
        } catch  where error.operation == "set the mode of" && Self.isWithoutModes(-error.systemError) {
            return
        }
    }

    /// Copies attributes from one symbolic link to another. A link has no mode.
    func copyAttributes(
        _ kept: FileCopyOptions.Attributes, ofLink source: String, _ status: RawStatus, to destination: String
    ) throws(FileError) {
        if kept.contains(.owner) {
            let result = destination.withCString { path in
                retrying { calls.metadata.changeOwner(path, status.user, status.group, false) }
            }
            try check(result, "set the owner of", destination)
        }
        if kept.contains(.extendedAttributes) {
            let (from, to) = (Array(source.utf8CString), Array(destination.utf8CString))
            try from.withUnsafeBufferPointer { from throws(FileError) in
                try to.withUnsafeBufferPointer { to throws(FileError) in
                    try copyExtendedAttributes(
                        of: .path(from.baseAddress!, followingLinks: false), source,
                        to: .path(to.baseAddress!, followingLinks: false), destination)
                }
            }
        }
        if kept.contains(.times) {
            let result = destination.withCString { path in
                retrying { calls.metadata.setTimes(path, status.modified, status.accessed, false) }
            }
            try check(result, "set the times of", destination)
        }
    }

    /// Copies all user attributes, and those other attributes that can be read and set. An access control list belongs to the mode.
    func copyExtendedAttributes(
        of source: MetadataCalls.Target, _ sourcePath: String, to destination: MetadataCalls.Target,
        _ destinationPath: String
    ) throws(FileError) {
        let names: [[CChar]]
        do throws(FileError) {
            names = try attributeNames(of: source, sourcePath)
        } catch  where error.code == .unsupported {
            return  // The file system has no extended attributes.
        }
        for name in names where !Self.isAccessList(name) {
            do throws(FileError) {
                // Nil if the attribute was removed after the listing.
                guard let value = try attribute(name, of: source, sourcePath) else { continue }
                try setAttribute(name, of: destination, to: value, .createOrReplace, destinationPath)
            } catch  where !Self.belongsToUser(name) && Self.isRefusal(error.systemError) {
                continue
            }
        }
    }

    /// Whether users set the attribute, as opposed to the system, which stores access rights in attributes.
    private static func belongsToUser(_ name: [CChar]) -> Bool {
        #if os(Linux)
        name.starts(with: "user.".utf8.map { CChar(bitPattern: $0) })
        #else
        true
        #endif
    }

    private static func isAccessList(_ name: [CChar]) -> Bool {
        #if os(Linux)
        name == accessListName
        #else
        false
        #endif
    }

    static func isRefusal(_ number: CInt) -> Bool {
        [EPERM, EACCES, EOPNOTSUPP, ENOTSUP, EINVAL, ENOSYS].contains(number)
    }
}
