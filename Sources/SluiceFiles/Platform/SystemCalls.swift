internal import CSluiceFiles

/// All system calls of this module, individually replaceable in tests.
///
///     var calls = SystemCalls.system
///     calls.sync = { _ in -EIO }                  // every fsync fails
///     let files = FileIO(calls: calls)
///
/// A call returns the kernel's result, 0 or more, or *minus* the error number. Paths and names are zero-terminated. Calls run concurrently
/// on threads of a lane.
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

    package var status: @Sendable (_ path: Path, _ followsLinks: Bool, _ status: inout RawStatus) -> CInt
    package var rename: @Sendable (_ source: Path, _ destination: Path) -> CInt
    package var renameWithoutReplacing: @Sendable (_ source: Path, _ destination: Path) -> CInt
    package var link: @Sendable (_ source: Path, _ destination: Path) -> CInt
    package var unlink: @Sendable (_ path: Path) -> CInt
    package var removeDirectory: @Sendable (_ path: Path) -> CInt
    package var createDirectory: @Sendable (_ path: Path, _ mode: UInt32) -> CInt
    package var unlinkAt: @Sendable (_ directory: CInt, _ name: Path, _ flags: CInt) -> CInt
    package var list: @Sendable (_ directory: CInt, _ limit: Int, _ entries: inout [RawEntry]) -> CInt

    // MARK: Threads

    /// Called on the thread that submits a job.
    package var startThread: @Sendable (_ stackSize: Int, _ body: @escaping @Sendable () -> Void) -> CInt

    // MARK: Groups

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
        status: { path, followsLinks, status in
            var found = csluice_status()
            let result = followsLinks ? csluice_stat(path, &found) : csluice_lstat(path, &found)
            if result == 0 { status = RawStatus(found) }
            return result
        },
        rename: { csluice_rename($0, $1) },
        renameWithoutReplacing: { csluice_rename_noreplace($0, $1) },
        link: { csluice_link($0, $1) },
        unlink: { csluice_unlink($0) },
        removeDirectory: { csluice_rmdir($0) },
        createDirectory: { csluice_mkdir($0, mode_t($1)) },
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

/// A name in a directory, as zero-terminated bytes. It may not be valid UTF-8.
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

// MARK: - Random access

/// The system calls of random access, mapped memory and preallocation, individually replaceable like those in ``SystemCalls``.
package struct RandomAccessCalls: Sendable {
    // MARK: Positions

    package var readAt: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int
    package var writeAt: @Sendable (_ descriptor: CInt, _ from: UnsafeRawBufferPointer, _ offset: Int64) -> Int
    package var seek: @Sendable (_ descriptor: CInt, _ offset: Int64, _ whence: CInt) -> Int64

    // MARK: Space

    package var preallocate: @Sendable (_ descriptor: CInt, _ offset: Int64, _ count: Int64, _ keepsSize: Bool) -> CInt
    package var punchHole: @Sendable (_ descriptor: CInt, _ offset: Int64, _ count: Int64) -> CInt
    package var adviseFile:
        @Sendable (_ descriptor: CInt, _ offset: Int64, _ count: Int64, _ advice: AccessAdvice) -> CInt

    // MARK: Mapped memory

    package typealias Memory = UnsafeMutableRawPointer

    /// Maps for reading, or privately for reading and writing if `isChangeable`. See mmap(2), MAP_PRIVATE.
    package var map:
        @Sendable (_ descriptor: CInt, _ count: Int, _ isChangeable: Bool, _ address: inout Memory?) -> CInt
    package var unmap: @Sendable (_ address: Memory, _ count: Int) -> CInt
    package var adviseMemory: @Sendable (_ address: Memory, _ count: Int, _ advice: AccessAdvice) -> CInt
    package var populate: @Sendable (_ address: Memory, _ count: Int) -> CInt
    package var touch: @Sendable (_ address: Memory, _ count: Int) -> CInt

    package static let system = RandomAccessCalls(
        readAt: { csluice_pread($0, $1.baseAddress, $1.count, $2) },
        writeAt: { csluice_pwrite($0, $1.baseAddress, $1.count, $2) },
        seek: { csluice_lseek($0, $1, $2) },
        preallocate: { csluice_preallocate($0, $1, $2, $3) },
        punchHole: { csluice_punch_hole($0, $1, $2) },
        adviseFile: { csluice_advise_file($0, $1, $2, $3.number) },
        map: { csluice_map($0, $1, $2, &$3) },
        unmap: { csluice_unmap($0, $1) },
        adviseMemory: { csluice_advise_memory($0, $1, $2.number) },
        populate: { csluice_populate($0, $1) },
        touch: { csluice_touch($0, $1) }
    )
}

extension AccessAdvice {
    fileprivate var number: csluice_advice {
        switch self {
        case .normal: csluice_advice_normal
        case .sequential: csluice_advice_sequential
        case .random: csluice_advice_random
        case .needed: csluice_advice_needed
        case .notNeeded: csluice_advice_not_needed
        }
    }
}

// MARK: - Metadata

/// The system calls for times, modes, links and extended attributes, individually replaceable like those in ``SystemCalls``.
package struct MetadataCalls: Sendable {
    package typealias Path = SystemCalls.Path

    package enum Target {
        case descriptor(CInt)
        case path(Path, followsLinks: Bool)
    }

    // MARK: Times, modes, owners (nil changes nothing)

    package var setTimes:
        @Sendable (_ path: Path, _ modified: FileTime?, _ accessed: FileTime?, _ followsLinks: Bool) -> CInt
    package var setTimesOfDescriptor:
        @Sendable (_ descriptor: CInt, _ modified: FileTime?, _ accessed: FileTime?) -> CInt
    package var changeMode: @Sendable (_ path: Path, _ mode: UInt32) -> CInt
    package var changeOwner: @Sendable (_ path: Path, _ user: UInt32?, _ group: UInt32?, _ followsLinks: Bool) -> CInt
    package var changeOwnerOfDescriptor: @Sendable (_ descriptor: CInt, _ user: UInt32?, _ group: UInt32?) -> CInt

    /// The user whose permissions count. See geteuid(2).
    package var effectiveUser: @Sendable () -> Int

    // MARK: Links

    package var symbolicLink: @Sendable (_ target: Path, _ path: Path) -> CInt
    package var link: @Sendable (_ source: Path, _ destination: Path, _ followsLinks: Bool) -> CInt
    package var readLink: @Sendable (_ path: Path, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var resolve: @Sendable (_ path: Path, _ into: UnsafeMutableRawBufferPointer) -> Int

    // MARK: Extended attributes (an empty buffer asks for the size)

    package var listAttributes: @Sendable (_ target: Target, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var attribute: @Sendable (_ target: Target, _ name: Path, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var setAttribute:
        @Sendable (_ target: Target, _ name: Path, _ value: UnsafeRawBufferPointer, _ writing: AttributeWriting) -> CInt
    package var removeAttribute: @Sendable (_ target: Target, _ name: Path) -> CInt
}

extension MetadataCalls {
    package static let system = MetadataCalls(
        setTimes: { path, modified, accessed, followsLinks in
            withPointers(modified, accessed) { csluice_set_times(AT_FDCWD, path, $0, $1, followsLinks) }
        },
        setTimesOfDescriptor: { descriptor, modified, accessed in
            withPointers(modified, accessed) { csluice_fset_times(descriptor, $0, $1) }
        },
        changeMode: { csluice_chmod($0, mode_t($1)) },
        changeOwner: { csluice_chown(AT_FDCWD, $0, $1 ?? .max, $2 ?? .max, $3) },
        changeOwnerOfDescriptor: { csluice_fchown($0, $1 ?? .max, $2 ?? .max) },
        effectiveUser: { Int(csluice_effective_user()) },
        symbolicLink: { csluice_symlink($0, $1) },
        link: { csluice_link_as($0, $1, $2) },
        readLink: { csluice_readlink($0, $1.baseAddress, $1.count) },
        resolve: { csluice_realpath($0, $1.baseAddress, $1.count) },
        listAttributes: { target, into in
            csluice_xattr_list(target.descriptor, target.path, target.followsLinks, into.baseAddress, into.count)
        },
        attribute: { target, name, into in
            csluice_xattr_get(
                target.descriptor, target.path, target.followsLinks, name, into.baseAddress, into.count)
        },
        setAttribute: { target, name, value, writing in
            csluice_xattr_set(
                target.descriptor, target.path, target.followsLinks, name, value.baseAddress, value.count,
                writing.flags)
        },
        removeAttribute: { target, name in
            csluice_xattr_remove(target.descriptor, target.path, target.followsLinks, name)
        })

    static func withPointers(
        _ first: FileTime?, _ second: FileTime?,
        _ body: (UnsafePointer<csluice_time>?, UnsafePointer<csluice_time>?) -> CInt
    ) -> CInt {
        let times = (first?.raw ?? csluice_time(), second?.raw ?? csluice_time())
        return withUnsafePointer(to: times.0) { one in
            withUnsafePointer(to: times.1) { two in body(first == nil ? nil : one, second == nil ? nil : two) }
        }
    }
}

extension MetadataCalls.Target {
    fileprivate var descriptor: CInt { if case .descriptor(let descriptor) = self { descriptor } else { -1 } }
    fileprivate var path: SystemCalls.Path? { if case .path(let path, _) = self { path } else { nil } }
    fileprivate var followsLinks: Bool { if case .path(_, false) = self { false } else { true } }
}

extension AttributeWriting {
    fileprivate var flags: CInt {
        switch self {
        case .createOrReplace: 0
        case .create: csluice_xattr_create
        case .replace: csluice_xattr_replace
        }
    }
}

// MARK: - Copying

/// The system calls that copy within the kernel, individually replaceable like those in ``SystemCalls``.
package struct CopyCalls: Sendable {
    /// Makes the destination share all blocks of the source. See ioctl_ficlone(2).
    package var clone: @Sendable (_ source: CInt, _ destination: CInt) -> CInt

    /// Copies between the positions of two descriptors, and advances both. See copy_file_range(2).
    package var copyRange: @Sendable (_ source: CInt, _ destination: CInt, _ count: Int) -> Int

    /// Returns the offset of the next data or hole at or after this offset. See lseek(2), SEEK_DATA and SEEK_HOLE.
    package var nextData: @Sendable (_ descriptor: CInt, _ offset: Int64) -> Int64
    package var nextHole: @Sendable (_ descriptor: CInt, _ offset: Int64) -> Int64

    package static let system = CopyCalls(
        clone: { csluice_clone($0, $1) },
        copyRange: { csluice_copy_range($0, $1, $2) },
        nextData: { csluice_next_data($0, $1) },
        nextHole: { csluice_next_hole($0, $1) })
}

// MARK: - Directories

/// The system calls that list directories and work relative to them, individually replaceable like those in ``SystemCalls``.
package struct DirectoryCalls: Sendable {
    package typealias Path = SystemCalls.Path

    /// Appends the next entries of a directory, from where the last call on this descriptor stopped. Returns their number, 0 at the end.
    package var readEntries: @Sendable (_ directory: CInt, _ entries: inout [RawDirectoryEntry]) -> CInt
    package var statusAt:
        @Sendable (_ directory: CInt, _ name: Path, _ followsLinks: Bool, _ status: inout RawStatus) -> CInt
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
        statusAt: { directory, name, followsLinks, status in
            var found = csluice_status()
            let result = csluice_status_at(directory, name, followsLinks, &found)
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

// MARK: - Change notification

/// The system calls of change notification, individually replaceable like those in ``SystemCalls``. `SystemCalls.read` reads the queue, and
/// the bytes have the layout of inotify(7).
package struct WatchCalls: Sendable {
    package var makeQueue: @Sendable () -> CInt
    package var addWatch: @Sendable (_ queue: CInt, _ path: SystemCalls.Path, _ mask: UInt32) -> CInt

    package static let system = WatchCalls(
        makeQueue: { csluice_watch_make() },
        addWatch: { csluice_watch_add($0, $1, $2) }
    )
}

// MARK: - Readiness

/// The system calls of the readiness lane, individually replaceable like those in ``SystemCalls``.
///
/// Only `waitForEvents` and `poll` block, and only the lane's own thread makes them. The others run on any thread.
package struct ReadinessCalls: Sendable {
    // MARK: Waiting for many

    package var makeQueue: @Sendable () -> CInt = { csluice_epoll_create() }
    package var setInterest: @Sendable (_ queue: CInt, _ entry: ReadinessEntry, _ isNew: Bool) -> CInt = {
        csluice_epoll_set($0, $1.descriptor, $1.readiness.rawValue, $1.token, $2 ? 0 : 1)
    }
    package var removeInterest: @Sendable (_ queue: CInt, _ descriptor: CInt) -> CInt = { csluice_epoll_remove($0, $1) }
    package var waitForEvents:
        @Sendable (_ queue: CInt, _ milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt = waitForEvents
    /// Keeps only the entries that are ready, and sets what each is ready for. See poll(2).
    package var poll: @Sendable (_ milliseconds: CInt, _ entries: inout [ReadinessEntry]) -> CInt = poll

    /// Opens the two ends of the lane's wake-up, which may be the same descriptor.
    package var makeWakeup: @Sendable (_ ends: inout (reading: CInt, writing: CInt)) -> CInt = makeWakeup
    package var signal: @Sendable (_ writing: CInt) -> CInt = { csluice_wakeup_signal($0) }
    package var clear: @Sendable (_ reading: CInt) -> CInt = { csluice_wakeup_clear($0) }

    // MARK: Without waiting

    package var read: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ manner: Manner) -> Int = {
        csluice_read_now($0, $1.baseAddress, $1.count, CInt($2.rawValue))
    }
    package var write: @Sendable (_ descriptor: CInt, _ from: UnsafeRawBufferPointer, _ manner: Manner) -> Int = {
        csluice_write_now($0, $1.baseAddress, $1.count, CInt($2.rawValue))
    }
    /// Returns the kind of file (S_IFMT), without contacting a file server.
    package var kind: @Sendable (_ descriptor: CInt) -> CInt = { csluice_kind($0) }
    package var readiness: @Sendable (_ descriptor: CInt) -> CInt = { csluice_readiness_now($0) }
    package var canBeWaitedFor: @Sendable (_ descriptor: CInt) -> CInt = { csluice_can_be_waited_for($0) }
    package var flags: @Sendable (_ descriptor: CInt) -> CInt = { csluice_get_flags($0) }
    package var setFlags: @Sendable (_ descriptor: CInt, _ flags: CInt) -> CInt = { csluice_set_flags($0, $1) }
    /// Reopens a descriptor's file as non-blocking.
    package var reopen: @Sendable (_ descriptor: CInt, _ flags: CInt) -> CInt = { csluice_reopen($0, $1) }

    package enum Manner: UInt32, Sendable {
        /// read(2) or write(2): the descriptor is non-blocking, or a thread may block on it.
        case plain
        /// recv(2) or send(2) with MSG_DONTWAIT.
        case socket
        /// preadv2(2) or pwritev2(2) with RWF_NOWAIT.
        case noWait
    }

    package static let system = ReadinessCalls()

    private static func waitForEvents(_ queue: CInt, _ milliseconds: CInt, _ events: inout [ReadinessEntry]) -> CInt {
        withUnsafeTemporaryAllocation(of: csluice_event.self, capacity: 256) { found in
            let count = csluice_epoll_wait(queue, found.baseAddress, CInt(found.count), milliseconds)
            events = count > 0 ? found.prefix(Int(count)).map { ReadinessEntry($0) } : []
            return count
        }
    }

    private static func poll(_ milliseconds: CInt, _ entries: inout [ReadinessEntry]) -> CInt {
        var list = entries.map {
            csluice_event(token: $0.token, readiness: $0.readiness.rawValue, descriptor: $0.descriptor)
        }
        let count = csluice_poll_many(&list, CInt(list.count), milliseconds)
        entries = count > 0 ? list.lazy.filter { $0.readiness != 0 }.map { ReadinessEntry($0) } : []
        return count
    }

    private static func makeWakeup(_ ends: inout (reading: CInt, writing: CInt)) -> CInt {
        var found: [CInt] = [-1, -1]
        let result = csluice_wakeup_open(&found)
        ends = (found[0], found[1])
        return result
    }
}

package struct Readiness: OptionSet, Sendable, Hashable {
    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }
    private init(_ bit: csluice_readiness) { self.init(rawValue: UInt32(bit.rawValue)) }

    package static let reading = Self(csluice_readable)
    package static let writing = Self(csluice_writable)
    package static let hungUp = Self(csluice_hung_up)
    /// The descriptor has failed, or the pipe that it writes to has no reader.
    package static let failed = Self(csluice_failed)
    package static let notOpen = Self(csluice_not_open)
    /// Requests every event instead of one.
    package static let repeatedly = Self(csluice_repeatedly)
}

/// A descriptor with the events that it is armed for, or an event with what the descriptor is ready for.
package struct ReadinessEntry: Sendable, Hashable {
    package var descriptor: CInt
    package var readiness: Readiness
    /// Identifies the registration: see ``ReadinessStateMachine``.
    package var token: UInt64

    package init(descriptor: CInt, readiness: Readiness, token: UInt64) {
        self.descriptor = descriptor
        self.readiness = readiness
        self.token = token
    }

    init(_ event: csluice_event) {
        self.init(descriptor: event.descriptor, readiness: Readiness(rawValue: event.readiness), token: event.token)
    }
}

// MARK: - Reading without waiting

/// The system calls that never wait for a device, individually replaceable like those in ``SystemCalls``.
package struct InlineCalls: Sendable {
    /// Opens a file for reading if its path is in memory. Doesn't follow a symbolic link at the end. See openat2(2), RESOLVE_CACHED.
    package var open: @Sendable (_ path: SystemCalls.Path) -> CInt

    /// Reads bytes that are in memory, at the descriptor's position if `offset` is -1. See preadv2(2), RWF_NOWAIT.
    package var read: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int

    /// Returns 1 if opening and closing on the file's file system never waits for another machine or process.
    package var isLocal: @Sendable (_ descriptor: CInt) -> CInt

    package static let system = InlineCalls(
        open: { csluice_open_cached($0) },
        read: { csluice_read_cached($0, $1.baseAddress, $1.count, $2) },
        isLocal: { csluice_is_local($0) })

    /// The calls on a kernel that has none of them.
    package static let missing = InlineCalls(
        open: { _ in -ENOSYS }, read: { _, _, _ in -Int(ENOSYS) }, isLocal: { _ in -ENOSYS })
}

// MARK: - Status

/// The result of statx(2).
package struct RawStatus: Sendable, Hashable {
    package var device: UInt64 = 0
    package var inode: UInt64 = 0
    package var mode: UInt32 = 0
    package var links: UInt32 = 1
    package var user: UInt32 = 0
    package var group: UInt32 = 0
    package var size: Int64 = 0
    /// The number of bytes in its blocks.
    package var allocated: Int64 = 0
    package var accessed = FileTime.epoch
    package var modified = FileTime.epoch
    package var changed = FileTime.epoch
    package var created: FileTime?

    package init() {}

    init(_ status: csluice_status) {
        device = status.device
        inode = status.inode
        mode = status.mode
        links = status.links
        user = status.user
        group = status.group
        size = max(0, status.size)
        allocated = max(0, status.allocated)
        accessed = FileTime(status.accessed)
        modified = FileTime(status.modified)
        changed = FileTime(status.changed)
        created = status.has_created ? FileTime(status.created) : nil
    }

    package func isSameFile(as other: RawStatus) -> Bool {
        device == other.device && inode == other.inode
    }

    package var isDirectory: Bool { kind == UInt32(S_IFDIR) }
    package var isRegularFile: Bool { kind == UInt32(S_IFREG) }
    package var isFIFO: Bool { kind == UInt32(S_IFIFO) }
    package var isSymbolicLink: Bool { kind == UInt32(S_IFLNK) }
    package var permissions: UInt32 { mode & 0o7777 }

    var kind: UInt32 { mode & UInt32(S_IFMT) }
}

extension FileTime {
    init(_ time: csluice_time) { self.init(seconds: time.seconds, clamping: time.nanoseconds) }

    /// Creates a time from the kernel's numbers. A damaged file system may report nanoseconds out of range.
    package init(seconds: Int64, clamping nanoseconds: Int64) {
        self.init(seconds: seconds, nanoseconds: Int(min(max(0, nanoseconds), 999_999_999)))
    }

    var raw: csluice_time { csluice_time(seconds: seconds, nanoseconds: Int64(nanoseconds)) }
}
