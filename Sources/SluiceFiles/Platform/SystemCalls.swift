internal import CSluiceFiles

/// All system calls of this module, replaceable one by one in tests.
///
///     var calls = SystemCalls.system
///     calls.sync = { _ in -EIO }                  // every fsync fails
///     let files = FileIO(calls: calls)
///
/// A call returns the kernel's result, 0 or more, or *minus* the error number. Paths and names end in a zero byte. Calls run
/// concurrently on threads of a lane.
package struct SystemCalls: Sendable {
    package typealias Path = UnsafePointer<CChar>

    // MARK: Descriptors

    package var open: @Sendable (_ path: Path, _ flags: CInt, _ mode: UInt32) -> CInt
    package var openAt: @Sendable (_ directory: CInt, _ name: Path, _ flags: CInt) -> CInt
    package var close: @Sendable (_ descriptor: CInt) -> CInt
    package var read: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var write: @Sendable (_ descriptor: CInt, _ from: UnsafeRawBufferPointer) -> Int
    package var writeVector: @Sendable (_ descriptor: CInt, _ pieces: ArraySlice<UnsafeRawBufferPointer>) -> Int
    package var waitUntilReady: @Sendable (_ descriptor: CInt, _ direction: Direction) -> CInt
    package var truncate: @Sendable (_ descriptor: CInt, _ size: Int64) -> CInt
    package var changeMode: @Sendable (_ descriptor: CInt, _ mode: UInt32) -> CInt
    package var lock: @Sendable (_ descriptor: CInt, _ operation: CInt) -> CInt
    package var unlock: @Sendable (_ descriptor: CInt) -> CInt
    package var statusOfDescriptor: @Sendable (_ descriptor: CInt, _ status: inout RawStatus) -> CInt

    // MARK: Durability

    package var sync: @Sendable (_ descriptor: CInt) -> CInt
    package var syncData: @Sendable (_ descriptor: CInt) -> CInt
    package var syncDirectory: @Sendable (_ descriptor: CInt) -> CInt

    // MARK: Paths

    package var status: @Sendable (_ path: Path, _ followingLinks: Bool, _ status: inout RawStatus) -> CInt
    package var rename: @Sendable (_ source: Path, _ destination: Path) -> CInt
    package var renameWithoutReplacing: @Sendable (_ source: Path, _ destination: Path) -> CInt
    package var link: @Sendable (_ source: Path, _ destination: Path) -> CInt
    package var unlink: @Sendable (_ path: Path) -> CInt
    package var removeDirectory: @Sendable (_ path: Path) -> CInt
    package var makeDirectory: @Sendable (_ path: Path, _ mode: UInt32) -> CInt
    package var unlinkAt: @Sendable (_ directory: CInt, _ name: Path, _ flags: CInt) -> CInt
    package var list: @Sendable (_ directory: CInt, _ limit: Int, _ entries: inout [RawEntry]) -> CInt

    // MARK: Threads

    /// Called on the thread that submits a job.
    package var startThread: @Sendable (_ stackSize: Int, _ body: @escaping @Sendable () -> Void) -> CInt

    // MARK: Groups, each in its own file

    package var randomAccess = RandomAccessCalls.system
    package var metadata = MetadataCalls.system
    package var copying = CopyCalls.system
    package var directories = DirectoryCalls.system
    package var watching = WatchCalls.system
    package var readiness = ReadinessCalls.system
    package var inline = InlineCalls.system

    package enum Direction: Sendable { case reading, writing }
}

extension SystemCalls {
    package static let system = SystemCalls(
        open: { csluice_open($0, $1, mode_t($2)) },
        openAt: { csluice_openat($0, $1, $2, 0) },
        close: { csluice_close($0) },
        read: { csluice_read($0, $1.baseAddress, $1.count) },
        write: { csluice_write($0, $1.baseAddress, $1.count) },
        writeVector: writeVector,
        waitUntilReady: { csluice_poll($0, Int16($1 == .reading ? POLLIN : POLLOUT), -1) },
        truncate: { csluice_ftruncate($0, $1) },
        changeMode: { csluice_fchmod($0, mode_t($1)) },
        lock: { csluice_flock($0, $1) },
        unlock: { csluice_flock($0, LOCK_UN) },
        statusOfDescriptor: { descriptor, status in
            var found = csluice_status()
            let result = csluice_fstat(descriptor, &found)
            if result == 0 { status = RawStatus(found) }
            return result
        },
        sync: { csluice_sync_full($0) },
        syncData: { csluice_sync_data($0) },
        syncDirectory: { csluice_fsync($0) },
        status: { path, followingLinks, status in
            var found = csluice_status()
            let result = followingLinks ? csluice_stat(path, &found) : csluice_lstat(path, &found)
            if result == 0 { status = RawStatus(found) }
            return result
        },
        rename: { csluice_rename($0, $1) },
        renameWithoutReplacing: { csluice_rename_noreplace($0, $1) },
        link: { csluice_link($0, $1) },
        unlink: { csluice_unlink($0) },
        removeDirectory: { csluice_rmdir($0) },
        makeDirectory: { csluice_mkdir($0, mode_t($1)) },
        unlinkAt: { csluice_unlinkat($0, $1, $2) },
        list: list,
        startThread: { DetachedThread.start(stackSize: $0, $1) }
    )

    private static func writeVector(_ descriptor: CInt, _ pieces: ArraySlice<UnsafeRawBufferPointer>) -> Int {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: pieces.count) { vector in
            for (index, piece) in pieces.enumerated() {
                vector[index] = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: piece.baseAddress), iov_len: piece.count)
            }
            return csluice_writev(descriptor, vector.baseAddress, CInt(vector.count))
        }
    }

    private static func list(_ directory: CInt, _ limit: Int, _ entries: inout [RawEntry]) -> CInt {
        withUnsafeMutablePointer(to: &entries) { entries in
            csluice_list(
                directory, CInt(clamping: limit),
                { context, name, kind in
                    let entries = context!.assumingMemoryBound(to: [RawEntry].self)
                    entries.pointee.append(RawEntry(name: name!, kind: kind))
                }, entries)
        }
    }
}

/// A name in a directory as bytes that end in zero. It may not be valid UTF-8.
package struct RawEntry: Sendable {
    package var name: [CChar]
    /// Whether the entry is a directory; `nil` if its file system doesn't report it.
    package var isDirectory: Bool?

    init(name: UnsafePointer<CChar>, kind: CInt) {
        self.name = Array(UnsafeBufferPointer(start: name, count: strlen(name) + 1))
        isDirectory =
            switch UInt32(kind) {
            case csluice_kind_directory.rawValue: true
            case csluice_kind_other.rawValue: false
            default: nil
            }
    }
}
