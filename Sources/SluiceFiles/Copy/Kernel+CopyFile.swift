internal import CSluiceFiles

// Copies one file to another name. The steps are those of the atomic replacement in Kernel+Replace.
extension Kernel {
    func copyFile(
        _ source: String, to destination: String, _ options: FileCopyOptions, _ report: ProgressCounter.Report?,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        do {
            if options.existing == .skip, try status(of: destination, followingLinks: false) != nil {
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
        return FileCopyResult(bytes: 0, method: .skipped)
    }

    private func copyUnlessSkipped(
        _ source: String, to destination: String, _ options: FileCopyOptions, _ report: ProgressCounter.Report?,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        let result: FileCopyResult
        let progress: ProgressCounter?
        // If nothing is there, opening it throws the error.
        let found = try status(of: source, followingLinks: options.followingLinks)
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
    private func openToCopy(_ source: String, _ options: FileCopyOptions) throws(FileError) -> OpenedFile {
        let flags = O_RDONLY | O_NONBLOCK | (options.followingLinks ? 0 : O_NOFOLLOW)
        let descriptor = try open(source, flags, for: "open")
        do throws(FileError) {
            let status = try status(ofDescriptor: descriptor, source)
            try checkCanBeCopied(status, source)
            return OpenedFile(descriptor: descriptor, path: source, status: status)
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
        _ source: OpenedFile, to destination: String, _ options: FileCopyOptions, _ progress: ProgressCounter?,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        // Compared by device and inode, with links at the destination followed, so other names of the file are found
        // too.
        try checkIsOther(source.status, try status(of: destination), source.path, destination)
        let replaced = try statusOfReplaced(destination, options.existing, for: "copy to")
        let keepsMode = options.keeping.contains(.permissions)
        // No other user can open the file until it gets its rights, which happens after the contents are written.
        let isNew = !keepsMode && replaced == nil
        let newFile = FilePermissions.newFile.rawValue
        let temporary = try createTemporary(
            in: Path.directory(of: destination), permissions: isNew ? newFile : Self.privateFile)
        var descriptor: CInt? = temporary.descriptor
        do {
            let result = try copyContents(of: source, to: temporary, progress: progress, cancellation)
            try copyAttributes(options.keeping, of: source, to: temporary)
            if !keepsMode, let replaced,
                var rights = try rightsForReplacing(
                    destination, known: replaced, permissions: newFile, temporary)
            {
                if options.keeping.contains(.owner) {
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
        try checkIsOther(found, try status(of: destination, followingLinks: false), source, destination)
        _ = try statusOfReplaced(destination, options.existing, for: "copy to")
        let target = try linkTarget(of: source)
        let temporary = try makeTemporaryLink(to: target, in: Path.directory(of: destination))
        do throws(FileError) {
            try copyAttributes(options.keeping, ofLink: source, found, to: temporary)
            try renameUnique(temporary, to: destination, existing: options.existing)
        } catch {
            unlinkQuietly(temporary)
            throw error
        }
        return FileCopyResult(bytes: 0, method: .symbolicLink)
    }

    private func makeTemporaryLink(to target: [CChar], in directory: String) throws(FileError) -> String {
        var attempt = 1
        while true {
            let path = Path.join(directory, uniqueName(prefix: ".sluice-"))
            do throws(FileError) {
                try makeSymbolicLink(to: target, at: path)
                return path
            } catch  where error.code == .exists && attempt < 100 {
                attempt += 1
            }
        }
    }
}
