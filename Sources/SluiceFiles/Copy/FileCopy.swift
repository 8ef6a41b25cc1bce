internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Copies a file atomically: the destination either gets the whole copy or is unchanged.
    ///
    ///     let result = try await files.copy(film, to: backup, options: .init(attributes: .allButOwner)) { progress in
    ///         bar.show(progress.fractionCompleted ?? 0)
    ///     }
    ///     print(result.fileSize, result.method)
    ///
    /// The copy uses the fastest method that both file systems support: a clone that shares blocks (Btrfs, XFS), a copy by the kernel or
    /// the file server, or reading and writing. Holes are preserved.
    ///
    /// One job creates a temporary file in the destination's directory, copies the contents and the attributes, syncs the file,
    /// renames it, and syncs the directory, as `durability` requires. If a step fails, the temporary file is removed and the
    /// destination is unchanged. Only a failed sync of the directory is reported after the copy is in place. See
    /// copy_file_range(2), rename(2).
    ///
    /// - The source must be a regular file. Files in /proc are copied completely, even though they report a size of 0. A file that grows
    ///   during the copy is copied up to its size at the start. Other concurrent changes may leave a mix of old and new contents.
    /// - A directory, FIFO, device or socket is refused at either end, without opening it. Copying a file to itself, under the
    ///   same or another name, throws ``FileError/Code/sameFile``.
    /// - The destination's directory must exist. A symbolic link at the destination is replaced, not followed.
    /// - Cancellation: A queued call throws `CancellationError` immediately. A running copy throws it between pieces of at most 4 MiB, and
    ///   the destination is unchanged. Once the copy has been renamed, the call returns its result.
    /// - Failure: A ``FileError``. Its subject is the source, the destination or the temporary file.
    @discardableResult
    public func copy(
        _ source: URL, to destination: URL, options: FileCopyOptions = .init(),
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws -> FileCopyResult {
        let from = try Path.of(source, for: "copy")
        let to = try Path.of(destination, for: "copy to")
        return try await run { [system] cancellation in
            try system.copyFile(from, to: to, options, progress, cancellation)
        }
    }
}

/// Options for copying a file. See ``FileIO/copy(_:to:options:progress:)``.
public struct FileCopyOptions: Sendable, Hashable {
    /// The attributes that a copy keeps from the original.
    public struct Attributes: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public var rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The mode, regardless of the umask, and the access control list. Ignored on file systems without modes (FAT). Set-user-ID and
        /// set-group-ID bits are copied only if the copy has the same owner and group. If the file system can't store the list, the group
        /// and everyone else get only the access that every user and group on the list also had.
        public static let permissions = Self(rawValue: 1 << 0)

        /// The modification and access times, with the precision of the file system (nanoseconds at best).
        public static let times = Self(rawValue: 1 << 1)

        /// Extended attributes. The copy fails if a user attribute can't be copied. System attributes (`security.`, `trusted.`) are copied
        /// if possible. The access control list is part of the ``permissions``. See xattr(7).
        public static let extendedAttributes = Self(rawValue: 1 << 2)

        /// The owner and the group. Only root can change the owner; without permission, the copy fails. See chown(2).
        public static let owner = Self(rawValue: 1 << 3)

        /// All attributes except the owner, as in a backup of your own files.
        public static let allButOwner: Self = [.permissions, .times, .extendedAttributes]
    }

    /// What is guaranteed after a power failure.
    public var durability: Durability

    /// What happens if a file exists at the destination. The default is `.fail`.
    public var existing: ExistingFile

    /// Whether to copy the file that a symbolic link points to. If false, the link itself is copied.
    public var followsLinks: Bool

    /// The attributes to keep from the original. Without ``Attributes/permissions``, the copy has the rights of the file that it
    /// replaces, as in ``FileWriteOptions/permissions``; a new file gets read and write permission for all users, as masked by the umask.
    public var attributes: Attributes

    /// Creates options. By default nothing is replaced, and the copy is on the device before the call returns.
    public init(
        durability: Durability = .full, existing: ExistingFile = .fail, followsLinks: Bool = true,
        attributes: Attributes = .permissions
    ) {
        self.durability = durability
        self.existing = existing
        self.followsLinks = followsLinks
        self.attributes = attributes
    }
}

/// The result of copying a file.
public struct FileCopyResult: Sendable, Hashable {
    /// How the bytes were copied. Later versions may add cases.
    public enum Method: Sendable, Hashable {
        /// The copy shares the original's blocks until one of the files changes. See ioctl_ficlone(2).
        case clone
        /// The kernel or the file server copied the bytes. See copy_file_range(2).
        case kernelCopy
        /// Some or all bytes were read and written, or the file is empty and wasn't cloned.
        case readAndWrite
        /// A symbolic link with the same target was created.
        case symbolicLink
        /// A file exists at the destination, and ``FileCopyOptions/existing`` is `.skip`.
        case skipped
    }

    /// The size of the copy in bytes, holes included.
    public var fileSize: Int64

    /// How the bytes were copied.
    public var method: Method

    /// Creates a result.
    public init(fileSize: Int64, method: Method) {
        self.fileSize = fileSize
        self.method = method
    }
}

// MARK: - Steps

// Copies one file to another name. The steps are the same as for the atomic replacement in AtomicReplace.
extension SystemInterface {
    func copyFile(
        _ source: String, to destination: String, _ options: FileCopyOptions, _ report: ProgressCounter.Report?,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        do {
            if options.existing == .skip, try status(of: destination, followsLinks: false) != nil {
                return skipped(report)
            }
            return try copyUnlessSkipped(source, to: destination, options, report, cancellation)
        } catch let error as FileError where options.existing == .skip && error.code == .exists {
            // Another task or process has created it in the meantime.
            return skipped(report)
        }
    }

    private func skipped(_ report: ProgressCounter.Report?) -> FileCopyResult {
        ProgressCounter(report)?.finish()
        return FileCopyResult(fileSize: 0, method: .skipped)
    }

    private func copyUnlessSkipped(
        _ source: String, to destination: String, _ options: FileCopyOptions, _ report: ProgressCounter.Report?,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        let result: FileCopyResult
        let progress: ProgressCounter?
        // If the source doesn't exist, opening it throws the error.
        let found = try status(of: source, followsLinks: options.followsLinks)
        if let found, found.isSymbolicLink {
            progress = ProgressCounter(report)
            result = try copyLink(source, found, to: destination, options)
        } else {
            // Checked before opening, since opening a tape rewinds it and opening a FIFO waits for a writer.
            if let found { try checkCanBeCopied(found, source) }
            let file = try openToCopy(source, options)
            defer { closeQuietly(file.descriptor) }
            let size = file.status.size
            progress = ProgressCounter(report, totalBytes: size > 0 ? size : nil)
            result = try copyFile(file, to: destination, options, progress, cancellation)
        }
        if options.durability == .fullAndDirectory { try syncDirectory(of: destination) }
        progress?.add(entries: 1)
        progress?.finish()
        return result
    }

    // MARK: Files

    /// Another process may have replaced the file after the check. O_NONBLOCK keeps a FIFO from blocking the thread, and has no
    /// effect on a regular file.
    private func openToCopy(_ source: String, _ options: FileCopyOptions) throws(FileError) -> RawFile {
        let flags = O_RDONLY | O_NONBLOCK | (options.followsLinks ? 0 : O_NOFOLLOW)
        let descriptor = try open(source, flags, for: "open")
        do throws(FileError) {
            let status = try status(ofDescriptor: descriptor, source)
            try checkCanBeCopied(status, source)
            return RawFile(descriptor: descriptor, path: source, status: status)
        } catch {
            closeQuietly(descriptor)
            throw error
        }
    }

    private func checkCanBeCopied(_ status: RawStatus, _ path: String) throws(FileError) {
        if status.isDirectory { throw FileError(operation: "copy", path: path, systemError: EISDIR) }
        guard status.isRegularFile else {
            throw FileError(
                code: .notRegularFile, operation: "copy", path: path,
                remedy: "Read it in chunks instead, because only a regular file can be copied.")
        }
    }

    private func copyFile(
        _ source: RawFile, to destination: String, _ options: FileCopyOptions, _ progress: ProgressCounter?,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        // Compares device and inode and follows links at the destination, so it also detects other names of the file.
        try checkIsOther(source.status, try status(of: destination), source.path, destination)
        let replaced = try statusOfReplaced(destination, options.existing, for: "copy to")
        let keepsMode = options.attributes.contains(.permissions)
        // No other user can open the file until it gets its rights, which happens after the contents are written.
        let isNew = !keepsMode && replaced == nil
        let newFile = FilePermissions.newFile.rawValue
        let temporary = try createTemporary(
            in: Path.directory(of: destination), permissions: isNew ? newFile : Self.privateFile)
        var descriptor: CInt? = temporary.descriptor
        do {
            let result = try copyContents(of: source, to: temporary, progress: progress, cancellation)
            try copyAttributes(options.attributes, of: source, to: temporary)
            if !keepsMode, let replaced,
                var rights = try rightsForReplacing(destination, known: replaced, permissions: newFile)
            {
                if options.attributes.contains(.owner) {
                    rights = rights.kept(user: source.status.user, group: source.status.group)
                }
                try give(rights, to: temporary.descriptor, temporary.path)
            }
            try cancellation.check()
            try sync(temporary.descriptor, options.durability, temporary.path)
            descriptor = nil
            try close(temporary.descriptor, temporary.path)
            // The sync may have taken a long time.
            try cancellation.check()
            try renameUnique(temporary.path, to: destination, existing: options.existing)
            return result
        } catch {
            unlinkQuietly(temporary.path)
            if let descriptor { closeQuietly(descriptor) }
            throw error
        }
    }

    private func checkIsOther(
        _ source: RawStatus, _ destination: RawStatus?, _ sourcePath: String, _ destinationPath: String
    ) throws(FileError) {
        guard destination?.isSameFile(as: source) == true else { return }
        throw FileError(
            code: .sameFile, operation: "copy '\(sourcePath)' to", path: destinationPath,
            remedy: "Choose another destination, because both names lead to the same file.")
    }

    // MARK: Links

    private func copyLink(
        _ source: String, _ found: RawStatus, to destination: String, _ options: FileCopyOptions
    ) throws(FileError) -> FileCopyResult {
        try checkIsOther(found, try status(of: destination, followsLinks: false), source, destination)
        _ = try statusOfReplaced(destination, options.existing, for: "copy to")
        let target = try linkTarget(of: source)
        let temporary = try withUniquePath(in: Path.directory(of: destination)) { path throws(FileError) in
            try createSymbolicLink(to: target, at: path)
            return path
        }
        do throws(FileError) {
            try copyAttributes(options.attributes, ofLink: source, found, to: temporary)
            try renameUnique(temporary, to: destination, existing: options.existing)
        } catch {
            unlinkQuietly(temporary)
            throw error
        }
        return FileCopyResult(fileSize: 0, method: .symbolicLink)
    }
}

// MARK: - Attributes

extension SystemInterface {
    /// Copies attributes from one open file or directory to another, after the contents have been written.
    ///
    /// The order matters, because the early steps would undo the later ones: owner (clears set-user-ID), extended attributes (need
    /// permission to write), mode and access control list, times. The times are from when `source` was opened, because reading changes the
    /// access time. The status of `destination` isn't used.
    func copyAttributes(
        _ kept: FileCopyOptions.Attributes, of source: RawFile, to destination: RawFile
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

    private func copyOwner(of source: RawFile, to destination: RawFile) throws(FileError) {
        let (user, group) = (source.status.user, source.status.group)
        let now = try status(ofDescriptor: destination.descriptor, destination.path)
        if now.user == user, now.group == group { return }
        let result = retrying { calls.metadata.changeOwnerOfDescriptor(destination.descriptor, user, group) }
        try check(result, "set the owner of", destination.path)
    }

    /// Copies the mode and the access control list. FAT and SMB have one mode for all files and refuse to set it. That error is ignored: no
    /// other file system refuses to set the mode of a file that this process has just created.
    private func copyMode(of source: RawFile, to destination: RawFile) throws(FileError) {
        let status = try status(ofDescriptor: destination.descriptor, destination.path)
        let now = AccessRights(status, list: try accessList(of: .descriptor(destination.descriptor), destination.path))
        let list = try accessList(of: .descriptor(source.descriptor), source.path)
        var rights = AccessRights(source.status, list: list)
        // With a different owner or group, a set-ID program would run as the wrong one. On a directory, set-group-ID determines the group
        // of new files.
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
                        of: .path(from.baseAddress!, followsLinks: false), source,
                        to: .path(to.baseAddress!, followsLinks: false), destination)
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

    /// Copies all user attributes, and any others that can be read and set. An access control list is copied with the mode.
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

    /// Whether users set this attribute. Otherwise the system does, for example to store access rights.
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
