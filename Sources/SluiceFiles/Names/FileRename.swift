internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Renames a file or directory, atomically.
    ///
    ///     try await files.rename(part, to: song)                         // throws .exists if a song is there
    ///     try await files.rename(part, to: song, existing: .replace)
    ///
    /// By default, an existing file is never replaced, even by concurrent renames: the method uses renameat2(2) with
    /// RENAME_NOREPLACE. If the kernel or the file system doesn't support that, a file is renamed by link(2) and unlink(2), and a
    /// directory by mkdir(2) and rename(2). This isn't atomic: for a moment, both names of the file exist, or an empty directory
    /// exists at the destination.
    ///
    /// If both URLs are names of the same file (hard links), replacing removes the old name, even though rename(2) would do nothing.
    ///
    /// Both URLs must be on the same file system. `.skip` is the same as `.fail`. The new name isn't synced: see
    /// <doc:WhatSurvivesACrash>.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately. Once started, the operation completes.
    /// - Failure: A ``FileError``, and both paths are unchanged.
    public func rename(_ source: URL, to destination: URL, existing: ExistingFile = .fail) async throws {
        let from = try Path.of(source, for: "rename")
        let to = try Path.of(destination, for: "rename to")
        try await run { [system] _ in try system.rename(from, to: to, existing: existing) }
    }
}

extension SystemInterface {
    /// Renames a file. Unless `existing` is `.replace`, never replaces an existing one. See rename(2), renameat2(2).
    ///
    /// If both names refer to the same file, rename(2) succeeds and does nothing, so the old name is removed separately.
    func rename(_ source: String, to destination: String, existing: ExistingFile) throws(FileError) {
        if existing == .replace, try areLinks(source, destination) {
            return try removeLink(source, to: destination)
        }
        try renameUnique(source, to: destination, existing: existing)
    }

    /// Returns whether two different names refer to the same file.
    private func areLinks(_ source: String, _ destination: String) throws(FileError) -> Bool {
        guard let old = try status(of: source, followsLinks: false), old.links > 1, !old.isDirectory,
            let new = try status(of: destination, followsLinks: false), new.isSameFile(as: old)
        else { return false }
        // Compares bytes: strings with the same characters can be different names.
        if !Path.name(of: source).utf8.elementsEqual(Path.name(of: destination).utf8) { return true }
        let directories = (try status(of: Path.directory(of: source)), try status(of: Path.directory(of: destination)))
        guard let above = directories.0, let other = directories.1 else { return false }
        return !above.isSameFile(as: other)
    }

    /// Renames the source to a unique name, and then to the destination. Unlike removing the source, this is correct even if another
    /// process changes one of the names in the meantime, or if both are the same name in a case-insensitive directory.
    private func removeLink(_ source: String, to destination: String) throws(FileError) {
        let aside = Path.join(Path.directory(of: source), uniqueName(prefix: ".sluice-"))
        try renameUnique(source, to: aside, existing: .fail)
        do throws(FileError) {
            try renameUnique(aside, to: destination, existing: .replace)
            try unlink(aside)
        } catch {
            // By then, the destination named another file, which is replaced.
            if error.systemError == ENOENT { return }
            try? renameUnique(aside, to: source, existing: .fail)
            throw error.with(operation: "give the name '\(destination)' to", path: source)
        }
    }

    /// Renames a file that has only this name, such as a temporary file.
    func renameUnique(_ source: String, to destination: String, existing: ExistingFile) throws(FileError) {
        let result = source.withCString { from in
            destination.withCString { to in
                switch existing {
                case .replace: retrying { calls.rename(from, to) }
                case .fail, .skip: renameWithoutReplacing(from, to, source)
                }
            }
        }
        guard result < 0 else { return }
        if result == -EEXIST {
            throw FileError(operation: "rename '\(source)' to", path: destination, systemError: EEXIST)
        }
        throw FileError(operation: "give the name '\(destination)' to", path: source, systemError: -result)
    }

    private func renameWithoutReplacing(
        _ from: SystemCalls.Path, _ to: SystemCalls.Path, _ source: String
    ) -> CInt {
        let calls = calls
        let result = retrying { calls.renameWithoutReplacing(from, to) }
        guard
            RenameInSteps.isWanted(
                after: result, ofNoNames: { "".withCString { calls.renameWithoutReplacing($0, $0) } })
        else { return result }
        let directory = Path.directory(of: source)
        return RenameInSteps(
            statusOfDirectory: { status in directory.withCString { calls.status($0, true, &status) } },
            statusOfFile: { calls.status(from, false, &$0) },
            user: { calls.metadata.effectiveUser() },
            link: { calls.link(from, to) },
            unlink: { name in calls.unlink(name == .old ? from : to) },
            createDirectory: { calls.createDirectory(to, 0o700) },
            rename: { calls.rename(from, to) },
            removeDirectory: { calls.removeDirectory(to) }
        ).run(on: self)
    }
}

// MARK: - Renaming without replacing

/// A rename that never replaces, built from calls without that option: for old kernels, and for file systems without RENAME_NOREPLACE (NFS,
/// some FUSE).
///
/// ```text
/// a file       link(2), which never replaces, then unlink(2). A crash between them leaves both names of one file.
/// a directory  mkdir(2), which never replaces either, then rename(2), which replaces only an empty directory. A crash
///              between them leaves an empty directory at the destination.
/// ```
///
/// If the old name can't be removed, the new one is removed again. In a sticky directory, neither can be removed if they belong to another
/// user, so that is checked first. An append-only directory (chattr +a) keeps both.
///
/// On failure, every call returns minus the error number.
struct RenameInSteps {
    enum Name {
        case old, new
    }

    /// The status of the directory that has the old name, and of the file, without following a link.
    let statusOfDirectory: (inout RawStatus) -> CInt
    let statusOfFile: (inout RawStatus) -> CInt
    let user: () -> Int
    let link: () -> CInt
    let unlink: (Name) -> CInt
    let createDirectory: () -> CInt
    let rename: () -> CInt
    let removeDirectory: () -> CInt

    /// Returns whether the single call is unavailable. EPERM may come from a sandbox or from a sticky directory. Only a sandbox also denies
    /// a call without names.
    static func isWanted(after result: CInt, ofNoNames call: () -> CInt) -> Bool {
        result == -EINVAL || result == -ENOSYS || (result == -EPERM && call() == -EPERM)
    }

    func run(on system: SystemInterface) -> CInt {
        let allowed = mayRemoveOldName(on: system)
        if allowed < 0 { return allowed }
        let linked = system.retrying(link)
        // Linux and POSIX return EPERM for a directory.
        if linked == -EPERM { return renameDirectory(on: system) }
        guard linked == 0 else { return linked }
        let unlinked = system.retrying { unlink(.old) }
        if unlinked < 0 { _ = system.retrying { unlink(.new) } }
        return unlinked
    }

    /// Returns -EPERM if the old name is in a sticky directory where only the owner of the file or of the directory may remove it. See
    /// unlink(2).
    private func mayRemoveOldName(on system: SystemInterface) -> CInt {
        var directory = RawStatus()
        let found = system.retrying { statusOfDirectory(&directory) }
        guard found >= 0, directory.mode & UInt32(S_ISVTX) != 0 else { return found }
        var file = RawStatus()
        let other = system.retrying { statusOfFile(&file) }
        if other < 0 { return other }
        let user = user()
        return user == 0 || user == file.user || user == directory.user ? 0 : -EPERM
    }

    private func renameDirectory(on system: SystemInterface) -> CInt {
        var status = RawStatus()
        let found = system.retrying { statusOfFile(&status) }
        guard found >= 0, status.isDirectory else { return found < 0 ? found : -EPERM }
        let made = system.retrying(createDirectory)
        guard made == 0 else { return made }
        let renamed = system.retrying(rename)
        if renamed < 0 { _ = system.retrying(removeDirectory) }
        return renamed
    }
}
