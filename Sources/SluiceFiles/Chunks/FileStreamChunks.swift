internal import SluiceLock

extension AsyncFileStream where Mode == ReadMode {
    /// What is left of the file in chunks of `size`, the last one shorter. The stream belongs to the loop from here on.
    ///
    ///     let stream = try await url.openForReading()
    ///     let header = try await stream.read(upToCount: 512)
    ///     for try await chunk in stream.chunks() { … }               // closes the file; use after that does not compile
    ///
    /// The call takes the stream, since what is read ahead would be missing from its next read. The file is closed before the
    /// last chunk is handed out, or when the iteration goes away before that, or, if there was none, when the last copy of
    /// the sequence does.
    ///
    /// **Iterate it once.** The bytes of an open file are gone once they are read, so a second iteration could only look like
    /// an empty file: it stops the program with a sentence. `url.chunks(of:)` opens the file for each iteration.
    ///
    /// Read-ahead, cancellation and failure as in `URL.chunks(of:readAhead:using:)`.
    ///
    /// - Parameters:
    ///   - size: The bytes of each chunk but the last.
    ///   - readAhead: How many chunks are read before they are asked for. With 0 each is read when it is asked for.
    public consuming func chunks(of size: Int = 256 << 10, readAhead: Int = 1) -> FileStreamChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        precondition(readAhead >= 0, "What is read ahead is not negative.")
        return FileStreamChunks(file, size: size, readAhead: readAhead)
    }
}

/// What is left of an open file in chunks, for one iteration: see `AsyncFileStream.chunks(of:readAhead:)`.
public struct FileStreamChunks: AsyncSequence, Sendable {
    /// The file until the iteration takes it: all copies of the sequence share it.
    private final class Box: Sendable {
        let file: Lock<OpenFile?>

        init(_ file: OpenFile) { self.file = Lock(file) }
    }

    private let box: Box
    private let size: Int
    private let readAhead: Int

    init(_ file: OpenFile, size: Int, readAhead: Int) {
        box = Box(file)
        self.size = size
        self.readAhead = readAhead
    }

    /// Begins the one iteration, where the stream was. A second one is a programmer's error and stops the program.
    public func makeAsyncIterator() -> FileChunks.Iterator {
        guard let file = box.file.withLock({ $0.take() }) else {
            preconditionFailure(
                "The chunks of an open file are iterated once: its bytes are gone then. Iterate `url.chunks(of:)`.")
        }
        return FileChunks.Iterator(ChunkReader(.file(file), size: size, readAhead: readAhead, file.io))
    }
}
