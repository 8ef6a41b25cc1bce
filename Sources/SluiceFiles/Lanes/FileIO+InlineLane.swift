internal import CSluiceFiles
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// The inline lane: what the system has in memory is read on the thread of the caller, where a hop to another thread would
// take ten times as long as the read.
//
// Nothing here waits for a device, another machine or another process. What would is left to the other lanes, and so is
// all that looks unusual: this lane reports no error, and no end of a file that only one short answer speaks for.
extension FileIO {
    /// The most bytes of one read. Copying them takes some 50 µs; on another thread it takes twice as long, which is that of a hop
    /// and of a processor that has neither side of the copy in its cache.
    static var maximumInline: Int { 1 << 20 }

    // MARK: Open files

    /// Reads what is in memory, at the file's position or at `offset`: one preadv2(2) with RWF_NOWAIT.
    ///
    /// - Returns: The bytes read. Fewer than there is room for say nothing about the end: another lane has to go on.
    func readInline(_ file: OpenFile, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64 = -1) -> Int {
        guard inline.isOpen, file.mayReadInline, !buffer.isEmpty, buffer.count <= Self.maximumInline else { return 0 }
        let result = kernel.retrying { kernel.calls.inline.read(file.descriptor, buffer, offset) }
        if result == buffer.count {
            inline.completed.add(1, ordering: .relaxed)
            return result
        }
        inline.missed.add(1, ordering: .relaxed)
        // EAGAIN is a page that is not in memory. Anything else comes again: a file system without such reads, a kernel
        // without the call, a failing disk.
        if result < 0, result != -Int(EAGAIN) { file.refuseInline() }
        return max(0, result)
    }

    /// Reads what is in memory of the next `count` bytes: all of them, some, or none.
    func readInline(_ file: OpenFile, upToCount count: Int, at offset: Int64 = -1) -> Data {
        guard inline.isOpen, file.mayReadInline, count > 0, count <= Self.maximumInline else { return Data() }
        var buffer = ReadBuffer(expected: count)
        buffer.append(atMost: count) { readInline(file, into: $0, at: offset) }
        return buffer.data()
    }

    // MARK: Whole files

    /// The whole of a small file: openat2(2) with RESOLVE_CACHED, fstat(2), one read that waits for nothing, close(2).
    ///
    /// Only in directories where a lane that may block found a local file system before: opening and closing there asks no other
    /// machine (NFS) and no other process (FUSE). Only regular files, and only if the read confirms the size that fstat
    /// told. Whatever else it is, nil: another lane begins again. A FIFO alone is handed on open, since its writer has seen
    /// that it was opened.
    func contentsInline(of path: String, limit: Int) -> FileContents? {
        guard inline.isOpen, let device = inline.localDirectories.device(for: path) else { return nil }
        let contents = kernel.brief.passing { () -> FileContents? in
            let descriptor = path.withCString { path in kernel.retrying { kernel.calls.inline.open(path) } }
            guard descriptor >= 0 else {
                if descriptor == -ENOSYS || descriptor == -EPERM { inline.localDirectories.stop() }
                return nil
            }
            var status = RawStatus()
            let isKnown = kernel.calls.statusOfDescriptor(descriptor, &status) == 0
            if isKnown, status.isFIFO {
                kernel.openCount.add(1, ordering: .relaxed)
                let opened = OpenedFile(descriptor: descriptor, path: path, status: status, isWaitedFor: true)
                return .waitedFor(OpenFile(opened, self))
            }
            guard isKnown, status.device == device, status.links > 0 else {
                // Another file system was mounted over the directory, or this close is the one that frees a removed file.
                inline.localDirectories.forget(path)
                kernel.openCount.add(1, ordering: .relaxed)
                runDetached { [kernel] in kernel.closeQuietly(descriptor) }
                return nil
            }
            let data = contentsInline(descriptor, status, limit: limit)
            // Not counted among the open files: it is gone again, and all threads would wait for that counter's cache line.
            _ = kernel.calls.close(descriptor)
            return data.map { .whole($0) }
        }
        if case .whole = contents {
            inline.completed.add(1, ordering: .relaxed)
        } else {
            inline.missed.add(1, ordering: .relaxed)
        }
        return contents
    }

    private func contentsInline(_ descriptor: CInt, _ status: RawStatus, limit: Int) -> Data? {
        let size = Int(clamping: status.size)
        // Of an empty file only one answer would speak: a page that is not there is no byte either.
        guard status.isRegularFile, size > 0, size <= Self.maximumInline, size <= limit else { return nil }
        var buffer = ReadBuffer(expected: size + 1)
        // One byte more than there should be. Exactly as many as fstat told: two answers that agree about the end.
        var result = 0
        buffer.append(atMost: size + 1) { free in
            result = kernel.retrying { kernel.calls.inline.read(descriptor, free, 0) }
            return max(0, result)
        }
        return result == size ? buffer.data() : nil
    }
}

/// What the inline lane knows and counts.
final class InlineLane: Sendable {
    /// Whether the engine was made with this lane, and the kernel has it.
    let isUsed: Bool
    private let isClosed = Atomic(false)
    let completed = Atomic(0)
    let missed = Atomic(0)
    let localDirectories = LocalDirectories()

    /// Asks the kernel once whether it has such reads: of no descriptor, it says EBADF where it has.
    init(isWanted: Bool, _ calls: SystemCalls) {
        isUsed =
            isWanted && calls.inline.read(-1, UnsafeMutableRawBufferPointer(start: nil, count: 0), 0) == -Int(EBADF)
    }

    var isOpen: Bool { isUsed && !isClosed.load(ordering: .relaxed) }

    func close() { isClosed.store(true, ordering: .relaxed) }

    /// Takes note of the directory of a file that a lane which may block has opened.
    func learn(_ path: String, _ descriptor: CInt, _ status: RawStatus, _ kernel: Kernel) {
        guard isUsed, status.isRegularFile, localDirectories.device(for: path) != status.device else { return }
        if kernel.calls.inline.isLocal(descriptor) == 1 { localDirectories.learn(path, device: status.device) }
    }
}
