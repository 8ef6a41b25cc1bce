#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// The file's bytes in chunks of `size`, the last one shorter.
    ///
    ///     for try await chunk in url.chunks(of: 256 << 10) {
    ///         digest.update(chunk)
    ///     }
    ///
    /// The file is opened by the first chunk and closed after the last; leaving the loop early closes it on a worker. Each
    /// iteration opens it anew. The next chunk is read when it is asked for: the consumer sets the pace.
    ///
    /// - Cancellation: the next chunk throws `CancellationError`.
    /// - Failure: a ``FileError``.
    public func chunks(of size: Int = 256 << 10, using io: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        return FileChunks(url: self, size: size, io: io)
    }
}

/// The bytes of a file in chunks: see `URL.chunks(of:using:)`.
public struct FileChunks: AsyncSequence, Sendable {
    let url: URL
    let size: Int
    let io: FileIO

    /// Starts at the first byte.
    public func makeAsyncIterator() -> Iterator {
        Iterator(state: .notOpened(self))
    }

    /// Reads one chunk after the other.
    public struct Iterator: AsyncIteratorProtocol {
        enum State {
            case notOpened(FileChunks)
            case open(OpenFile, size: Int)
            case ended
        }

        var state: State

        /// The next chunk, nil after the last.
        public mutating func next() async throws -> Data? {
            let file: OpenFile
            let size: Int
            switch state {
            case .ended: return nil
            case .open(let opened, let chunk): (file, size) = (opened, chunk)
            case .notOpened(let chunks):
                state = .ended
                file = try await chunks.url.openForReading(using: chunks.io).file
                size = chunks.size
            }
            state = .ended
            let stream = AsyncFileStream<ReadMode>(file)
            let chunk = try await stream.read(upToCount: size)
            if chunk.count < size {
                try await stream.close()
            } else {
                state = .open(file, size: size)
            }
            return chunk.isEmpty ? nil : chunk
        }
    }
}
