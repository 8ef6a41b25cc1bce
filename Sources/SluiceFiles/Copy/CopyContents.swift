internal import CSluiceFiles

extension SystemInterface {
    /// Copies the contents of an open regular file to an empty one. Both are at offset 0.
    ///
    /// Tries a clone (FICLONE), then copy_file_range(2), then read(2) and write(2). If one of the first two fails, the next one continues
    /// at the same position. So an error always comes from read(2) or write(2), which tells which of the two files failed. A result of 0
    /// from copy_file_range(2) isn't taken for the end of the file, because it returns 0 for every file in /proc.
    ///
    /// Holes are preserved if the file system reports them (SEEK_DATA). The copy ends at the size in `source.status`, which was read when
    /// the file was opened, because a log may grow faster than it is copied:
    ///
    /// ```text
    /// size at opening   later                                      copied
    /// 100               100, and reading ends there                100 bytes
    /// 100               reading ends at 90 (truncated)             90
    /// 100               150: the file grew                         100
    /// 0                 still 0, but reads return bytes (/proc)    all bytes
    /// ```
    ///
    /// After an error the caller removes the destination. This method doesn't sync the file, set its mode, or mark the progress as
    /// finished. `destination` is open without O_APPEND; its `status` isn't used.
    func copyContents(
        of source: RawFile, to destination: RawFile, progress: ProgressCounter? = nil,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        try cancellation.check()
        if retrying({ calls.copying.clone(source.descriptor, destination.descriptor) }) == 0 {
            let size = Int(clamping: try status(ofDescriptor: destination.descriptor, destination.path).size)
            progress?.add(bytes: size)
            return FileCopyResult(fileSize: Int64(size), method: .clone)
        }
        var copy = ContentsCopy(system: self, source: source, destination: destination, progress: progress)
        return try copy.run(cancellation)
    }
}

/// A copy in pieces. Both descriptors are at `position`.
private struct ContentsCopy: ~Copyable {
    /// Cancellation is checked and progress is reported between pieces.
    static var largestPiece: Int { 4 << 20 }

    private let system: SystemInterface
    private let source: RawFile
    private let destination: RawFile
    private let progress: ProgressCounter?

    private let told: Int
    private var position = 0
    private var size = 0
    private var triesKernel = true
    private var usedKernel = false
    private var usedBuffer = false
    /// From malloc, so it isn't zero-filled. Most copies touch only part of it.
    private let buffer: UnsafeMutableRawBufferPointer

    init(system: SystemInterface, source: RawFile, destination: RawFile, progress: ProgressCounter?) {
        self.system = system
        self.source = source
        self.destination = destination
        self.progress = progress
        told = Int(clamping: source.status.size)
        buffer = .allocate(byteCount: told < 64 << 10 ? 64 << 10 : 256 << 10, alignment: 1)
    }

    deinit { buffer.deallocate() }

    mutating func run(_ cancellation: borrowing Cancellation) throws -> FileCopyResult {
        // A file that occupies less than its size has holes, is compressed, or reports a wrong size.
        let hasHoles = source.status.allocated < source.status.size
        let isThere = hasHoles ? try copyAroundHoles(cancellation) : try copy(upTo: told, cancellation)
        if isThere { try copyUntold(cancellation) }
        return FileCopyResult(fileSize: Int64(size), method: usedKernel && !usedBuffer ? .kernelCopy : .readAndWrite)
    }

    /// Copies up to an offset. Returns false if the source ends before it.
    private mutating func copy(upTo end: Int, _ cancellation: borrowing Cancellation) throws -> Bool {
        while position < end {
            try cancellation.check()
            let copied = try copyPiece(min(end - position, Self.largestPiece))
            if copied == 0 { return false }
            advance(by: copied)
        }
        return true
    }

    private mutating func copyPiece(_ count: Int) throws(FileError) -> Int {
        if triesKernel {
            let copied = system.retrying {
                system.calls.copying.copyRange(source.descriptor, destination.descriptor, count)
            }
            if copied > 0 {
                usedKernel = true
                return copied
            }
            triesKernel = false
        }
        let read = try readPiece(count)
        try writePiece(read)
        return read
    }

    private func readPiece(_ count: Int) throws(FileError) -> Int {
        try system.read(
            source.descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)), source.path)
    }

    private mutating func writePiece(_ count: Int) throws(FileError) {
        guard count > 0 else { return }
        usedBuffer = true
        let bytes = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
        try system.write(destination.descriptor, bytes, after: position, destination.path)
    }

    private mutating func advance(by count: Int) {
        position += count
        size = position
        progress?.add(bytes: count)
    }

    /// Keeps reading past the size at opening. If the bytes there were appended during the copy, they aren't copied. If the reported size
    /// was wrong, they are.
    private mutating func copyUntold(_ cancellation: borrowing Cancellation) throws {
        while true {
            try cancellation.check()
            // There are no bytes past the largest offset, and a request that extends past it fails with EINVAL.
            let read = try readPiece(min(buffer.count, .max - position))
            if read == 0 { return }
            // Checked after the read, so that the size includes bytes that were appended before it.
            if try system.status(ofDescriptor: source.descriptor, source.path).size > told { return }
            try writePiece(read)
            advance(by: read)
        }
    }

    // MARK: Holes

    /// Copies the data up to the size at opening and skips the holes. Returns false if the source ends before it.
    private mutating func copyAroundHoles(_ cancellation: borrowing Cancellation) throws -> Bool {
        while position < told {
            let data = system.retrying { system.calls.copying.nextData(source.descriptor, Int64(position)) }
            if data == -Int64(ENXIO) || data >= told {
                try endWithHole()
                return true
            }
            let hole = data < 0 ? data : system.retrying { system.calls.copying.nextHole(source.descriptor, data) }
            guard hole > data, data >= position else {
                // This file system doesn't report holes, or reports nonsense, or the file is being changed.
                try seek(to: position)
                return try copy(upTo: told, cancellation)
            }
            try seek(to: Int(data))
            guard try copy(upTo: min(Int(hole), told), cancellation) else { return false }
        }
        return true
    }

    /// Moves both descriptors over a hole. The destination grows only when data is written after the hole.
    private mutating func seek(to offset: Int) throws(FileError) {
        for file in [source, destination] {
            let result = system.retrying { system.calls.randomAccess.seek(file.descriptor, Int64(offset), SEEK_SET) }
            try system.check(result, "seek in", file.path)
        }
        progress?.add(bytes: offset - position)
        position = offset
    }

    private mutating func endWithHole() throws(FileError) {
        // The source may have been truncated in the meantime.
        let now = Int(clamping: try system.status(ofDescriptor: source.descriptor, source.path).size)
        let end = max(position, min(told, now))
        try system.truncate(destination.descriptor, to: Int64(end), for: "extend", destination.path)
        try seek(to: end)
        size = end
    }
}
