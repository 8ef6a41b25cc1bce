internal import CSluiceFiles
internal import DequeModule
internal import SluiceLock
internal import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Watches a file or directory, and returns its changes from now on.
    ///
    ///     for try await change in try await files.changes(of: inbox, kinds: [.closedAfterWriting, .renamed]) {
    ///         switch change.kind {
    ///         case .closedAfterWriting, .renamed(_, to: .some): try await process(change.name!)
    ///         case .overflow: try await processAll()
    ///         default: break
    ///         }
    ///     }
    ///
    /// The sequence contains all changes after the call has returned. To miss none, read the directory *after* the call. For a
    /// directory, the sequence contains changes of its own entries, but not of entries in its subdirectories.
    ///
    /// - Order: Changes are reported in the order in which they happened. Consecutive identical changes may be reported as one.
    /// - Overflow: The kernel keeps 16,384 changes (fs.inotify.max_queued_events) for a slow loop. If it drops changes, the loop
    ///   receives ``FileChange/Kind/overflow``.
    /// - Renames: A rename within the directory nearly always has both names. If its halves can't be read together, it is
    ///   reported as two changes.
    /// - End: The sequence ends after ``FileChange/Kind/removed`` without a name, or ``FileChange/Kind/unmounted``. A file that is still
    ///   open counts as removed when it is closed. `kinds` can't filter out these changes or overflows.
    /// - Limitations: Changes by other machines on a file server, writes to mapped memory, and changes in /proc and /sys aren't
    ///   reported.
    /// - Resources: One descriptor and one inotify instance. A user may have 128 instances (fs.inotify.max_user_instances). Waiting uses
    ///   no thread.
    /// - Cancellation: A queued call throws `CancellationError` immediately. In the loop, the next change throws it, and the
    ///   watch is removed.
    /// - Failure: A ``FileError``: ``FileError/Code/unsupported`` on systems other than Linux, which have no inotify(7).
    public func changes(
        of url: URL, kinds: FileChange.Kinds = .all, followsLinks: Bool = true
    ) async throws -> FileChanges {
        let path = try Path.of(url, for: "watch")
        let watch = try await run { [self] _ in
            Watch(try system.watch(path, kinds, followsLinks: followsLinks), path, self)
        }
        return FileChanges(watch: watch)
    }
}

/// The changes of a file or directory. See ``FileIO/changes(of:kinds:followsLinks:)``.
///
/// The sequence can be iterated once, by one task. A second iterator continues where the first one stopped. When the sequence and
/// its iterators are dropped, the watch is removed on a worker.
public struct FileChanges: AsyncSequence, Sendable {
    /// The type of the changes.
    public typealias Element = FileChange

    let watch: Watch

    /// Continues with the changes that haven't been received yet.
    public func makeAsyncIterator() -> Iterator { Iterator(watch: watch) }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let watch: Watch

        /// Waits for the next change. Returns `nil` when the watched file or directory no longer exists.
        ///
        /// - Precondition: No other call for the same sequence is running.
        public mutating func next() async throws -> FileChange? {
            try await watch.next()
        }
    }
}

/// A change of a watched file or of an entry of a watched directory. See inotify(7).
public struct FileChange: Sendable, Hashable {
    /// The kind of a change. Later versions may add cases, so write `@unknown default` in a `switch`.
    public enum Kind: Sendable, Hashable {
        /// A file, directory or link was created in the directory. The file may still be empty.
        case created
        /// The contents were changed by a write or a truncation. Several writes may be reported as one change.
        case modified
        /// A file that was open for writing was closed. This usually means that it is complete.
        case closedAfterWriting
        /// A name was removed from the directory. If `name` is `nil`, the watched file or directory was removed, and the sequence
        /// ends.
        case removed
        /// A file was renamed. `from` is `nil` if it was moved into this directory from another one, and `to` is `nil` if it was
        /// moved out. If `name` is `nil`, the watched file or directory has a new path and is still watched.
        case renamed(from: DirectoryEntry.Name?, to: DirectoryEntry.Name?)
        /// The mode, owner, times, extended attributes or number of links changed.
        case attributes
        /// The file system of the watched file or directory was unmounted, and the sequence ends.
        case unmounted
        /// Changes were lost because the loop was too slow. Read the directory again.
        case overflow
    }

    /// The kind of the change.
    public var kind: Kind

    /// The name in the watched directory (after a rename, the new one), or `nil` for the watched file or directory itself.
    public var name: DirectoryEntry.Name?

    /// Whether the change is about a directory.
    public var isDirectory: Bool

    /// Creates a change.
    public init(_ kind: Kind, name: DirectoryEntry.Name? = nil, isDirectory: Bool = false) {
        self.kind = kind
        self.name = name
        self.isDirectory = isDirectory
    }

    /// A set of kinds of changes to receive.
    public struct Kinds: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: UInt32

        /// Creates a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// ``Kind/created``
        public static let created = Self(rawValue: 1)
        /// ``Kind/modified``. A file that is written often has many of these.
        public static let modified = Self(rawValue: 2)
        /// ``Kind/closedAfterWriting``
        public static let closedAfterWriting = Self(rawValue: 4)
        /// ``Kind/removed``, for names in the directory
        public static let removed = Self(rawValue: 8)
        /// ``Kind/renamed(from:to:)``
        public static let renamed = Self(rawValue: 16)
        /// ``Kind/attributes``
        public static let attributes = Self(rawValue: 32)
        /// All kinds.
        public static let all: Self = [.created, .modified, .closedAfterWriting, .removed, .renamed, .attributes]
    }
}

// MARK: - State machine

/// Converts the kernel's events to changes, in order. A pure value.
///
/// ```text
/// read    moved from "a" (cookie 7), modified "x"     holds both: the new name of "a" isn't known yet
/// read    moved to "b" (cookie 7)                     returns: renamed "a" to "b", modified "x"
/// or: nothing more to read                            returns: renamed "a" to nil, modified "x"
/// ```
///
/// The kernel queues both halves of a rename one after the other. Other events may come between them, and a read may
/// return only the first half. See inotify(7), "Dealing with rename() events".
package struct FileChangeMachine {
    private struct Item {
        var change: FileChange
        /// The cookie of the missing half of a rename, or `nil` if the change is complete.
        var awaited: UInt32?
    }

    private var items = Deque<Item>()

    /// Whether the kernel has ended the watch. No events follow the pending changes.
    package private(set) var isEnded = false

    package init() {}

    package var isReady: Bool { items.first.map { $0.awaited == nil } ?? false }

    package mutating func next() -> FileChange? { isReady ? items.popFirst()?.change : nil }

    /// Records that nothing more can be read for now. An unmatched half of a rename then counts as a move to or from another directory.
    package mutating func settle() {
        for index in items.indices { items[index].awaited = nil }
    }

    // MARK: Reading

    private static var headSize: Int { 16 }

    /// Takes the bytes of one read. An incomplete event, which the kernel never writes, counts as an overflow.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty, !isEnded {
            guard rest.count >= Self.headSize else { return overflow() }
            let head = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.headSize))
            let mask = head.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
            let cookie = head.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
            let length = Int(head.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
            rest = rest.dropFirst(Self.headSize)
            guard length <= rest.count else { return overflow() }
            // The name is padded with zeros to align the next event.
            let name = rest.prefix(length).prefix { $0 != 0 }
            rest = rest.dropFirst(length)
            receive(mask, cookie, name.isEmpty ? nil : DirectoryEntry.Name(bytes: name))
        }
        if isEnded { settle() }
    }

    private mutating func receive(_ mask: UInt32, _ cookie: UInt32, _ name: DirectoryEntry.Name?) {
        let isDirectory = has(mask, csluice_changed_is_directory)
        func append(_ machine: inout Self, _ kind: FileChange.Kind, _ name: DirectoryEntry.Name?) {
            machine.items.append(Item(change: FileChange(kind, name: name, isDirectory: isDirectory)))
        }
        if has(mask, csluice_changed_overflow) { overflow() }
        if has(mask, csluice_changed_created) { append(&self, .created, name) }
        if has(mask, csluice_changed_modified) { append(&self, .modified, name) }
        if has(mask, csluice_changed_attributes) { append(&self, .attributes, name) }
        if has(mask, csluice_changed_closed_after_writing) { append(&self, .closedAfterWriting, name) }
        if has(mask, csluice_changed_moved_from) {
            append(&self, .renamed(from: name, to: nil), name)
            items[items.endIndex - 1].awaited = cookie
        }
        if has(mask, csluice_changed_moved_to) {
            if let first = items.firstIndex(where: { $0.awaited == cookie }) {
                // Keeps the position of the first half: changes between the halves happened after the rename.
                items[first].change.kind = .renamed(from: items[first].change.name, to: name)
                items[first].change.name = name
                items[first].awaited = nil
            } else {
                append(&self, .renamed(from: nil, to: name), name)
            }
        }
        if has(mask, csluice_changed_removed) { append(&self, .removed, name) }
        if has(mask, csluice_changed_moved_itself) { append(&self, .renamed(from: nil, to: nil), nil) }
        if has(mask, csluice_changed_removed_itself) { append(&self, .removed, nil) }
        if has(mask, csluice_changed_unmounted) { append(&self, .unmounted, nil) }
        if has(mask, csluice_changed_ignored) { isEnded = true }
    }

    private func has<Bit: BinaryInteger>(_ mask: UInt32, _ bit: Bit) -> Bool { mask & UInt32(bit) != 0 }

    /// The second halves of renames may be among the lost events. Consecutive overflows are reported once.
    private mutating func overflow() {
        settle()
        if items.last?.change.kind != .overflow { items.append(Item(change: FileChange(.overflow))) }
    }
}

extension FileChange.Kinds {
    /// The events of inotify(7) to request, always including those that end the watch.
    var mask: UInt32 {
        var bits = [csluice_changed_removed_itself, csluice_changed_not_unlinked]
        if contains(.created) { bits.append(csluice_changed_created) }
        if contains(.modified) { bits.append(csluice_changed_modified) }
        if contains(.closedAfterWriting) { bits.append(csluice_changed_closed_after_writing) }
        if contains(.removed) { bits.append(csluice_changed_removed) }
        if contains(.attributes) { bits.append(csluice_changed_attributes) }
        if contains(.renamed) {
            bits += [csluice_changed_moved_from, csluice_changed_moved_to, csluice_changed_moved_itself]
        }
        return bits.reduce(0) { $0 | UInt32($1) }
    }
}

// MARK: - Watching

/// An inotify queue with one watch.
final class Watch: Sendable {
    private let queue: OpenFile
    private let machine = Lock(FileChangeMachine())
    private let isInUse = Atomic(false)

    init(_ descriptor: CInt, _ path: String, _ io: FileIO) {
        queue = OpenFile(RawFile(descriptor: descriptor, path: path, status: RawStatus()), io)
    }

    /// Waits for the next change. Returns `nil` at the end. An error or a cancellation ends the watch.
    func next() async throws -> FileChange? {
        precondition(
            !isInUse.exchange(true, ordering: .acquiring), "Only one task at a time may iterate over the changes.")
        defer { isInUse.store(false, ordering: .releasing) }
        do {
            while true {
                if let change = machine.withLock({ $0.next() }) { return change }
                if !queue.isOpen { return nil }
                if machine.withLock({ $0.isEnded }) { break }
                let isEmpty = try await queue.io.run { [self] cancellation in try read(cancellation) }
                if isEmpty { try await queue.io.waitUntilReady(queue.descriptor, .reading, queue.path) }
            }
        } catch {
            try? await queue.close()
            throw error
        }
        try? await queue.close()
        return nil
    }

    /// Reads until a change is complete or nothing more can be read. Returns true if the caller must wait for more events.
    private func read(_ cancellation: borrowing Cancellation) throws -> Bool {
        let system = queue.io.system
        return try withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 8) { buffer in
            while true {
                try cancellation.check()
                let count = system.retrying { system.calls.read(queue.descriptor, buffer) }
                if count == -Int(EAGAIN) {
                    return machine.withLock { machine in
                        machine.settle()
                        return !machine.isReady && !machine.isEnded
                    }
                }
                try system.check(count, "watch", queue.path)
                let isReady = machine.withLock { machine in
                    machine.receive(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
                    return machine.isReady || machine.isEnded
                }
                if isReady { return false }
            }
        }
    }

    /// Room for several thousand events. A buffer that is too small for one event gets EINVAL.
    private static var bufferSize: Int { 64 << 10 }
}

extension SystemInterface {
    func watch(_ path: String, _ kinds: FileChange.Kinds, followsLinks: Bool) throws(FileError) -> CInt {
        let queue = retrying { calls.watching.makeQueue() }
        do throws(FileError) {
            try check(queue, "watch", path)
        } catch {
            throw error.explained([
                ENOSYS: "List the directory at intervals, because only Linux has this kind of change notification.",
                EMFILE:
                    "Raise fs.inotify.max_user_instances or the limit on open files (ulimit -n), because the user or "
                    + "the process has reached it.",
            ])
        }
        openCount.add(1, ordering: .relaxed)
        let mask = kinds.mask | (followsLinks ? 0 : UInt32(csluice_changed_not_following))
        let watch = path.withCString { path in retrying { calls.watching.addWatch(queue, path, mask) } }
        do throws(FileError) {
            try check(watch, "watch", path)
        } catch {
            closeQuietly(queue)
            if error.systemError != ENOSPC { throw error }
            // ENOSPC is about the user's watches here, not about the device.
            throw FileError(
                code: .exhausted, operation: error.operation, path: error.subject, systemError: ENOSPC,
                remedy: "Raise fs.inotify.max_user_watches, because the user has reached this limit.")
        }
        return queue
    }
}

extension FileError {
    fileprivate func explained(_ remedies: [CInt: String]) -> FileError {
        var error = self
        error.remedy = remedies[systemError] ?? remedy
        return error
    }
}
