#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// The file's bytes in chunks of `size`, the last one shorter.
    ///
    ///     for try await chunk in url.chunks(of: 256 << 10) {
    ///         digest.update(chunk)                                    // meanwhile the next chunk is read
    ///     }
    ///
    /// The file is opened by the first chunk and closed before the last is handed out; leaving the loop early closes it on a
    /// worker. Each iteration opens it anew.
    ///
    /// While the loop works on a chunk, up to `readAhead` chunks are read and kept for it, no more: the consumer sets the
    /// pace, and memory is bounded by `readAhead + 2` chunks. A thread is held only while it reads.
    ///
    /// - What the system has in memory is copied on the calling thread when it is asked for, in chunks of up to 256 KiB:
    ///   handing it over from another thread would take longer. The first chunk that is not there begins the reading ahead.
    ///   See ``FileIO/Lane``.
    /// - Only of a regular file that states a size is anything read ahead: a FIFO, a terminal and some files of /proc block
    ///   for as long as somebody else likes, and what was read of them is gone for others.
    ///
    /// Chunks of a FIFO come when they are full or at the end; one that is awaited holds no thread.
    ///
    /// - Cancellation: the next chunk throws `CancellationError`, and the file is closed. A chunk that is being read when the
    ///   task is cancelled may still come. An iteration that was cancelled is over.
    /// - Failure: a ``FileError``, after the chunks before it; the file is closed, and the iteration is over.
    ///
    /// - Parameters:
    ///   - size: The bytes of each chunk but the last.
    ///   - readAhead: How many chunks are read before they are asked for. With 0 each is read when it is asked for.
    ///   - io: The engine to run on.
    public func chunks(of size: Int = 256 << 10, readAhead: Int = 1, using io: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        precondition(readAhead >= 0, "What is read ahead is not negative.")
        return FileChunks(url: self, size: size, readAhead: readAhead, io: io)
    }
}

/// The bytes of a file in chunks: see `URL.chunks(of:readAhead:using:)`.
public struct FileChunks: AsyncSequence, Sendable {
    let url: URL
    let size: Int
    let readAhead: Int
    let io: FileIO

    /// Starts at the first byte.
    public func makeAsyncIterator() -> Iterator {
        Iterator(ChunkReader(.url(url), size: size, readAhead: readAhead, io))
    }

    /// Gives one chunk after the other. Copies of it share one place in the file.
    public struct Iterator: AsyncIteratorProtocol {
        private let owner: ChunkReader.Owner

        init(_ reader: ChunkReader) { owner = ChunkReader.Owner(reader) }

        /// The next chunk, nil after the last.
        public mutating func next() async throws -> Data? {
            try await next(isolation: #isolation)
        }

        /// The next chunk, nil after the last. Suspends on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            try await owner.reader.next(isolation: actor)
        }
    }
}
