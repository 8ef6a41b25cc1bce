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
/// Every call returns minus the error number when it fails.
struct RenameInSteps {
    enum Name {
        case old, new
    }

    let link: () -> CInt
    let unlink: (Name) -> CInt
    /// 1 for a directory, 0 for anything else.
    let isDirectory: () -> CInt
    let makeDirectory: () -> CInt
    let rename: () -> CInt
    let removeDirectory: () -> CInt

    /// Returns whether the single call isn't available. Sandboxes deny it with EPERM. If EPERM has another reason, the steps fail too.
    static func isWanted(after result: CInt) -> Bool {
        result == -EINVAL || result == -ENOSYS || result == -EPERM
    }

    func run(on kernel: Kernel) -> CInt {
        let linked = kernel.retrying(link)
        // Linux and POSIX return EPERM for a directory.
        if linked == -EPERM { return renameDirectory(on: kernel) }
        guard linked == 0 else { return linked }
        let unlinked = kernel.retrying { unlink(.old) }
        if unlinked < 0 { _ = kernel.retrying { unlink(.new) } }
        return unlinked
    }

    private func renameDirectory(on kernel: Kernel) -> CInt {
        let found = kernel.retrying(isDirectory)
        guard found > 0 else { return found < 0 ? found : -EPERM }
        let made = kernel.retrying(makeDirectory)
        guard made == 0 else { return made }
        let renamed = kernel.retrying(rename)
        if renamed < 0 { _ = kernel.retrying(removeDirectory) }
        return renamed
    }
}
