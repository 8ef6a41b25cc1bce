internal import CSluiceFiles
internal import SluiceLock
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The inline lane reads bytes that are in memory on the calling thread. A thread hop would take ten times as long as the read.
///
/// Nothing here waits for a device, another machine or another process. Everything unusual is left to the other lanes: this lane reports no
/// errors, and never takes a short read alone for the end of a file.
final class InlineLane: Sendable {
    let isUsed: Bool
    private let isClosed = Atomic(false)
    let completed = Atomic(0)
    let missed = Atomic(0)
    let localDirectories = LocalDirectories()

    /// Probes the call with an invalid descriptor: a kernel that has non-blocking reads returns EBADF.
    init(isWanted: Bool, _ calls: SystemCalls) {
        isUsed =
            isWanted && calls.inline.read(-1, UnsafeMutableRawBufferPointer(start: nil, count: 0), 0) == -Int(EBADF)
    }

    var isOpen: Bool { isUsed && !isClosed.load(ordering: .relaxed) }

    func close() { isClosed.store(true, ordering: .relaxed) }

    /// Records the directory of a file that another lane has opened, if its file system is local.
    func learn(_ path: String, _ descriptor: CInt, _ status: RawStatus, _ system: SystemInterface) {
        guard isUsed, status.isRegularFile, localDirectories.device(for: path) != status.device else { return }
        if system.calls.inline.isLocal(descriptor) == 1 { localDirectories.learn(path, device: status.device) }
    }
}

// MARK: - Reading

extension FileIO {
    /// The largest size of one read. Copying that many bytes takes about 50 µs. On another thread it takes twice as long, because of the
    /// thread hop, and because neither side of the copy is in that processor's cache.
    static var maximumInline: Int { 1 << 20 }

    // MARK: Open files

    /// Reads the bytes that are in memory, at the file's position or at `offset`, with one RWF_NOWAIT call to preadv2(2). If the result is
    /// less than the buffer's size, another lane must continue, because this may not be the end.
    func readInline(_ file: OpenFile, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64 = -1) -> Int {
        guard inline.isOpen, file.mayReadInline, !buffer.isEmpty, buffer.count <= Self.maximumInline else { return 0 }
        let result = system.retrying { system.calls.inline.read(file.descriptor, buffer, offset) }
        if result == buffer.count {
            inline.completed.add(1, ordering: .relaxed)
            return result
        }
        inline.missed.add(1, ordering: .relaxed)
        // EAGAIN means that a page isn't in memory. Any other error would recur: the file system or the kernel doesn't support such reads,
        // or the disk is failing.
        if result < 0, result != -Int(EAGAIN) { file.refuseInline() }
        return max(0, result)
    }

    func readInline(_ file: OpenFile, upToCount count: Int, at offset: Int64 = -1) -> Data {
        guard inline.isOpen, file.mayReadInline, count > 0, count <= Self.maximumInline else { return Data() }
        var buffer = ReadBuffer(expected: count)
        buffer.append(atMost: count) { readInline(file, into: $0, at: offset) }
        return buffer.data()
    }

    // MARK: Whole files

    /// Reads a whole small file: openat2(2) with RESOLVE_CACHED, fstat(2), one read that doesn't wait, close(2).
    ///
    /// Works only in directories that are known to be local, because opening a file on NFS or FUSE waits for another machine or process.
    /// Works only for regular files, and only if the read confirms the size that fstat returned. Otherwise returns `nil`, and another lane
    /// starts over. A FIFO is returned open, because opening it may have released a writer that was waiting for a reader.
    func contentsInline(of path: String, limit: Int) -> FileContents? {
        readInline(path) { descriptor, size in
            // The end of an empty file can't be confirmed, because reading a page that isn't in memory returns no bytes either.
            guard size > 0, size <= Self.maximumInline, size <= limit else { return nil }
            // Room for one extra byte. If the read returns exactly as many bytes as fstat reported, both agree on the end.
            let data = readOnce(descriptor, at: 0, upToCount: size + 1)
            return data.count == size ? data : nil
        }
    }

    /// Reads a part of a file that has `size` bytes, as ``contentsInline(of:limit:)`` reads a whole file.
    func contentsInline(of path: String, size: Int, part: Range<Int>) -> FileContents? {
        readInline(path) { descriptor, found in
            guard found == size, part.upperBound <= size, !part.isEmpty, part.count <= Self.maximumInline else {
                return nil
            }
            let data = readOnce(descriptor, at: part.lowerBound, upToCount: part.count)
            return data.count == part.count ? data : nil
        }
    }

    /// Opens a file, and calls `read` with its descriptor and its size if it is a regular file.
    private func readInline(_ path: String, _ read: (_ descriptor: CInt, _ size: Int) -> Data?) -> FileContents? {
        guard inline.isOpen, let device = inline.localDirectories.device(for: path) else { return nil }
        var data: Data?
        defer {
            if data != nil {
                inline.completed.add(1, ordering: .relaxed)
            } else {
                inline.missed.add(1, ordering: .relaxed)
            }
        }
        let descriptor = path.withCString { path in system.retrying { system.calls.inline.open(path) } }
        guard descriptor >= 0 else {
            if descriptor == -ENOSYS || descriptor == -EPERM { inline.localDirectories.stop() }
            return nil
        }
        var status = RawStatus()
        let isKnown = system.calls.statusOfDescriptor(descriptor, &status) == 0
        if isKnown, status.isFIFO {
            system.openCount.add(1, ordering: .relaxed)
            let opened = RawFile(descriptor: descriptor, path: path, status: status, isWaitedFor: true)
            return .waitedFor(OpenFile(opened, self))
        }
        guard isKnown, status.device == device, status.links > 0 else {
            // Another file system was mounted over the directory, or closing this descriptor frees a removed file.
            inline.localDirectories.forget(path)
            system.openCount.add(1, ordering: .relaxed)
            runDetached { [system] in system.closeQuietly(descriptor) }
            return nil
        }
        if status.isRegularFile { data = read(descriptor, Int(clamping: status.size)) }
        // Not counted in openCount: all threads would contend for that counter's cache line.
        _ = system.calls.close(descriptor)
        return data.map { .whole($0) }
    }

    /// Returns fewer bytes, or none, if they aren't in memory.
    private func readOnce(_ descriptor: CInt, at offset: Int, upToCount count: Int) -> Data {
        var buffer = ReadBuffer(expected: count)
        buffer.append(atMost: count) { free in
            max(0, system.retrying { system.calls.inline.read(descriptor, free, Int64(offset)) })
        }
        return buffer.data()
    }
}

// MARK: - Local directories

/// The directories on local file systems, where opening a file never waits for another machine or process, with their devices.
///
/// Lanes that may block add the directory of an open file. The inline lane looks directories up. If another file system is mounted over a
/// directory later, the device of the next opened file reveals it. A full table is cleared.
final class LocalDirectories: Sendable {
    private static var most: Int { 4096 }

    private struct State {
        var devices: [Substring: UInt64] = [:]
        /// Directories whose subdirectories are on the same device.
        var parents: [Substring: UInt64] = [:]
        var isStopped = false
    }
    private let state = Lock(State())

    func device(for path: String) -> UInt64? {
        let directory = Self.directory(of: path[...])
        return state.withLock { state in
            if let device = state.devices[directory] { return device }
            return state.parents.isEmpty ? nil : state.parents[Self.directory(of: directory)]
        }
    }

    /// Adds the subdirectories of a directory.
    func learn(subdirectoriesOf directory: String, device: UInt64) {
        state.withLock { state in
            if state.isStopped { return }
            if state.parents.count >= Self.most { state.parents.removeAll(keepingCapacity: true) }
            state.parents[Substring(directory)] = device
        }
    }

    func learn(_ path: String, device: UInt64) {
        let directory = Substring(String(Self.directory(of: path[...])))
        state.withLock { state in
            if state.isStopped { return }
            if state.devices.count >= Self.most { state.devices.removeAll(keepingCapacity: true) }
            state.devices[directory] = device
        }
    }

    func forget(_ path: String) {
        let directory = Self.directory(of: path[...])
        state.withLock { state in
            state.devices[directory] = nil
            state.parents[Self.directory(of: directory)] = nil
        }
    }

    /// Removes all directories and stops adding more, because the kernel can't open files from memory.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.devices = [:]
            state.parents = [:]
        }
    }

    /// Returns a `Substring`, so that a lookup doesn't allocate a string.
    private static func directory(of path: Substring) -> Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return path[..<slash]
    }
}
