internal import CSluiceFiles

/// A rename that never replaces, made of calls without that option: for old kernels, and for file systems without RENAME_NOREPLACE
/// (NFS, some FUSE).
///
/// ```text
/// a file       link(2), which never replaces, then unlink(2). A crash between them leaves both names of one file.
/// a directory  mkdir(2), which never replaces either, then rename(2), which replaces only an empty directory. A crash
///              between them leaves an empty directory at the destination.
/// ```
///
/// If the old name can't be removed, the new one is removed again. In a sticky directory neither can be, if they belong to another user, so
/// that is checked first. A directory to which names can only be added (chattr +a) keeps both.
///
/// Every call returns minus the error number when it fails.
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
    let makeDirectory: () -> CInt
    let rename: () -> CInt
    let removeDirectory: () -> CInt

    /// Returns whether the single call isn't available. Sandboxes deny it with EPERM, and so does a sticky directory. Only a sandbox also
    /// denies the call that has no names.
    static func isWanted(after result: CInt, ofNoNames call: () -> CInt) -> Bool {
        result == -EINVAL || result == -ENOSYS || (result == -EPERM && call() == -EPERM)
    }

    func run(on kernel: Kernel) -> CInt {
        let allowed = mayRemoveOldName(on: kernel)
        if allowed < 0 { return allowed }
        let linked = kernel.retrying(link)
        // Linux and POSIX return EPERM for a directory.
        if linked == -EPERM { return renameDirectory(on: kernel) }
        guard linked == 0 else { return linked }
        let unlinked = kernel.retrying { unlink(.old) }
        if unlinked < 0 { _ = kernel.retrying { unlink(.new) } }
        return unlinked
    }

    /// Returns -EPERM if the old name is in a sticky directory where only the owner of the file or of the directory may remove it. See
    /// unlink(2).
    private func mayRemoveOldName(on kernel: Kernel) -> CInt {
        var directory = RawStatus()
        let found = kernel.retrying { statusOfDirectory(&directory) }
        guard found >= 0, directory.mode & UInt32(S_ISVTX) != 0 else { return found }
        var file = RawStatus()
        let other = kernel.retrying { statusOfFile(&file) }
        if other < 0 { return other }
        let user = user()
        return user == 0 || user == file.user || user == directory.user ? 0 : -EPERM
    }

    private func renameDirectory(on kernel: Kernel) -> CInt {
        var status = RawStatus()
        let found = kernel.retrying { statusOfFile(&status) }
        guard found >= 0, status.isDirectory else { return found < 0 ? found : -EPERM }
        let made = kernel.retrying(makeDirectory)
        guard made == 0 else { return made }
        let renamed = kernel.retrying(rename)
        if renamed < 0 { _ = kernel.retrying(removeDirectory) }
        return renamed
    }
}
