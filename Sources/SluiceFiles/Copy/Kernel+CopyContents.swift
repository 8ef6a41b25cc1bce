internal import CSluiceFiles

extension Kernel {
    /// Copies what one open regular file holds into another, which is empty. Both stand at their beginning.
    ///
    ///     let result = try kernel.copyContents(of: source, to: temporary, progress: counter, cancellation)
    ///
    /// By the first way that works: a clone (FICLONE), copy_file_range(2), read(2) and write(2). Whatever one of the first
    /// two says against it, the next goes on where it stopped, and has the last word: its error tells reading from writing.
    /// Zero from copy_file_range(2) is no end, since it says that of every file in /proc.
    ///
    /// Holes stay holes where the file system tells them (SEEK_DATA). `source.status` is what was found at the opening, and
    /// its size is where the copy ends, for a log may grow faster than it is copied:
    ///
    /// ```text
    /// told   then                                     copied
    /// 100    the same, and reading ends there         100 bytes
    /// 100    90 (it was cut off, or lied)             90
    /// 100    it says 150: it grew                     100
    /// 0      still 0, but there is more (/proc)       all there is
    /// ```
    ///
    /// What remains in the destination after an error is the caller's to remove. Nothing is synced, no mode is set.
    ///
    /// - Parameters:
    ///   - source: Open for reading, with the status that it had then.
    ///   - destination: Open for writing, empty, not for appending. Its status is not looked at.
    ///   - progress: Told of the bytes, not finished: that is the caller's.
    func copyContents(
        of source: OpenedFile, to destination: OpenedFile, progress: ProgressCounter? = nil,
        _ cancellation: borrowing Cancellation
    ) throws -> FileCopyResult {
        try cancellation.check()
        if retrying({ calls.copying.clone(source.descriptor, destination.descriptor) }) == 0 {
            let size = Int(clamping: try status(ofDescriptor: destination.descriptor, destination.path).size)
            progress?.add(bytes: size)
            return FileCopyResult(bytes: Int64(size), method: .clone)
        }
        var copy = ContentsCopy(kernel: self, source: source, destination: destination, progress: progress)
        return try copy.run(cancellation)
    }
}

/// A copy by pieces on its way. Both descriptors stand at `position`.
private struct ContentsCopy: ~Copyable {
    /// Between two of these it can be cancelled and reports progress.
    static var largestPiece: Int { 4 << 20 }

    private let kernel: Kernel
    private let source: OpenedFile
    private let destination: OpenedFile
    private let progress: ProgressCounter?

    /// The size that the source told at its opening.
    private let told: Int
    private var position = 0
    /// The size of the destination.
    private var size = 0
    private var triesKernel = true
    private var usedKernel = false
    private var usedBuffer = false
    /// malloc's: nothing is filled with zeros first, and most copies never need it whole.
    private let buffer: UnsafeMutableRawBufferPointer

    init(kernel: Kernel, source: OpenedFile, destination: OpenedFile, progress: ProgressCounter?) {
        self.kernel = kernel
        self.source = source
        self.destination = destination
        self.progress = progress
        told = Int(clamping: source.status.size)
        buffer = .allocate(byteCount: told < 64 << 10 ? 64 << 10 : 256 << 10, alignment: 1)
    }

    deinit { buffer.deallocate() }

    mutating func run(_ cancellation: borrowing Cancellation) throws -> FileCopyResult {
        // A file that takes less than its size has holes, or is compressed, or lies.
        let hasHoles = source.status.allocated < source.status.size
        let isThere = hasHoles ? try copyAroundHoles(cancellation) : try copy(upTo: told, cancellation)
        if isThere { try copyUntold(cancellation) }
        return FileCopyResult(bytes: Int64(size), method: usedKernel && !usedBuffer ? .kernelCopy : .readAndWrite)
    }

    /// Copies to an offset. Returns false if the source ends before.
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
            let copied = kernel.retrying {
                kernel.calls.copying.copyRange(source.descriptor, destination.descriptor, count)
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
        try kernel.read(
            source.descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)), source.path)
    }

    private mutating func writePiece(_ count: Int) throws(FileError) {
        guard count > 0 else { return }
        usedBuffer = true
        let bytes = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
        try kernel.write(destination.descriptor, bytes, after: position, destination.path)
    }

    private mutating func advance(by count: Int) {
        position += count
        size = position
        progress?.add(bytes: count)
    }

    /// Reads on where the told size ends. What is there was added since, and does not belong to the copy; or the size was
    /// not true, and then it does.
    private mutating func copyUntold(_ cancellation: borrowing Cancellation) throws {
        while true {
            try cancellation.check()
            let read = try readPiece(buffer.count)
            if read == 0 { return }
            // Looked at after the read: bytes that were added and came are told by then.
            if try kernel.status(ofDescriptor: source.descriptor, source.path).size > told { return }
            try writePiece(read)
            advance(by: read)
        }
    }

    // MARK: Holes

    /// Copies the data and leaves out the holes, up to the told size. Returns false if the source ends before.
    private mutating func copyAroundHoles(_ cancellation: borrowing Cancellation) throws -> Bool {
        while position < told {
            let data = kernel.retrying { kernel.calls.copying.nextData(source.descriptor, Int64(position)) }
            if data == -Int64(ENXIO) || data >= told {
                try endWithHole()
                return true
            }
            let hole = data < 0 ? data : kernel.retrying { kernel.calls.copying.nextHole(source.descriptor, data) }
            guard hole > data else {
                // This file system does not tell them, or the file is being changed.
                try seek(to: position)
                return try copy(upTo: told, cancellation)
            }
            try seek(to: Int(data))
            guard try copy(upTo: min(Int(hole), told), cancellation) else { return false }
        }
        return true
    }

    /// Moves both on over a hole. The destination grows only when something is written behind it.
    private mutating func seek(to offset: Int) throws(FileError) {
        for file in [source, destination] {
            let result = kernel.retrying { kernel.calls.randomAccess.seek(file.descriptor, Int64(offset), SEEK_SET) }
            try kernel.check(result, "seek in", file.path)
        }
        progress?.add(bytes: offset - position)
        position = offset
    }

    /// Nothing but a hole is left: makes the destination as long as the source.
    private mutating func endWithHole() throws(FileError) {
        // It may have been cut off a moment ago.
        let now = Int(clamping: try kernel.status(ofDescriptor: source.descriptor, source.path).size)
        let end = max(position, min(told, now))
        let result = kernel.retrying { kernel.calls.truncate(destination.descriptor, Int64(end)) }
        try kernel.check(result, "lengthen", destination.path)
        try seek(to: end)
        size = end
    }
}
