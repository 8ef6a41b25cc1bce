internal import CSluiceFiles

/// The system calls that list directories and work relative to them, replaceable one by one like those of ``SystemCalls``.
package struct DirectoryCalls: Sendable {
    package typealias Path = SystemCalls.Path

    /// Appends the next entries of a directory, from where the last call on this descriptor stopped. Returns their number, 0 at the end.
    package var readEntries: @Sendable (_ directory: CInt, _ entries: inout [RawDirectoryEntry]) -> CInt
    package var statusAt:
        @Sendable (_ directory: CInt, _ name: Path, _ followingLinks: Bool, _ status: inout RawStatus) -> CInt
    package var renameAt: @Sendable (_ directory: CInt, _ name: Path, _ toDirectory: CInt, _ to: Path) -> CInt
    package var renameAtWithoutReplacing:
        @Sendable (_ directory: CInt, _ name: Path, _ toDirectory: CInt, _ to: Path) -> CInt
    package var linkAt: @Sendable (_ directory: CInt, _ name: Path, _ toDirectory: CInt, _ to: Path) -> CInt

    // MARK: Calls that create, for copies

    package var createAt: @Sendable (_ directory: CInt, _ name: Path, _ flags: CInt, _ mode: UInt32) -> CInt
    package var makeDirectoryAt: @Sendable (_ directory: CInt, _ name: Path, _ mode: UInt32) -> CInt
    package var symbolicLinkAt: @Sendable (_ target: Path, _ directory: CInt, _ name: Path) -> CInt
    package var readLinkAt: @Sendable (_ directory: CInt, _ name: Path, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var makeFIFOAt: @Sendable (_ directory: CInt, _ name: Path, _ mode: UInt32) -> CInt
    /// Sets the times of the link itself if the name is a symbolic link.
    package var setTimesAt:
        @Sendable (_ directory: CInt, _ name: Path, _ modified: FileTime?, _ accessed: FileTime?) -> CInt
    /// Fails for a symbolic link.
    package var changeModeAt: @Sendable (_ directory: CInt, _ name: Path, _ mode: UInt32) -> CInt
    package var changeOwnerAt: @Sendable (_ directory: CInt, _ name: Path, _ user: UInt32, _ group: UInt32) -> CInt

    package static let system = DirectoryCalls(
        readEntries: readEntries,
        statusAt: { directory, name, followingLinks, status in
            var found = csluice_status()
            let result = csluice_status_at(directory, name, followingLinks, &found)
            if result == 0 { status = RawStatus(found) }
            return result
        },
        renameAt: { csluice_renameat($0, $1, $2, $3) },
        renameAtWithoutReplacing: { csluice_renameat_noreplace($0, $1, $2, $3) },
        linkAt: { csluice_linkat($0, $1, $2, $3) },
        createAt: { csluice_openat($0, $1, $2, mode_t($3)) },
        makeDirectoryAt: { csluice_mkdirat($0, $1, mode_t($2)) },
        symbolicLinkAt: { csluice_symlinkat($0, $1, $2) },
        readLinkAt: { csluice_readlinkat($0, $1, $2.baseAddress, $2.count) },
        makeFIFOAt: { csluice_mkfifoat($0, $1, mode_t($2)) },
        setTimesAt: { directory, name, modified, accessed in
            MetadataCalls.withPointers(modified, accessed) { csluice_set_times(directory, name, $0, $1, false) }
        },
        changeModeAt: { csluice_fchmodat($0, $1, mode_t($2)) },
        changeOwnerAt: { csluice_chown($0, $1, $2, $3, false) }
    )

    private static func readEntries(_ directory: CInt, _ entries: inout [RawDirectoryEntry]) -> CInt {
        withUnsafeMutablePointer(to: &entries) { entries in
            csluice_read_entries(
                directory,
                { context, name, length, mode in
                    let bytes = UnsafeRawBufferPointer(start: name, count: length)
                    context!.assumingMemoryBound(to: [RawDirectoryEntry].self).pointee.append(
                        RawDirectoryEntry(name: DirectoryEntry.Name(bytes: bytes), mode: mode))
                }, entries)
        }
    }
}

/// A directory's record of an entry, read without looking at the entry itself.
package struct RawDirectoryEntry: Sendable, Hashable {
    package var name: DirectoryEntry.Name
    /// Only the bits of the kind; 0 if the directory's file system doesn't report it.
    package var mode: UInt32

    package init(name: DirectoryEntry.Name, mode: UInt32) {
        self.name = name
        self.mode = mode
    }
}
