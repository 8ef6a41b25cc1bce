internal import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension URL {
    /// Returns the bytes of the file in chunks of `size` bytes; the last chunk may be shorter.
    ///
    ///     for try await chunk in url.chunks(of: 256 << 10) {
    ///         digest.update(chunk)                                    // the next chunk is read meanwhile
    ///     }
    ///
    /// Each iteration opens the file when it reads the first chunk, and closes it as soon as the end has been read. Leaving the
    /// loop early closes the file on a worker.
    ///
    /// While the loop processes a chunk, up to `readAhead` further chunks are read. Then reading pauses until the loop takes one,
    /// so memory is bounded by `readAhead + 2` chunks. With 0, each chunk is read when it is requested. A thread is used only during a
    /// read.
    ///
    /// - Chunks of up to 256 KiB that are in the page cache are copied on the calling thread, because a handover from another
    ///   thread would take longer. The first chunk that isn't cached starts the read-ahead. See ``FileIO/Lane``.
    /// - Only regular files that report a size are read ahead. A FIFO, a terminal and some files of /proc can block until another
    ///   process writes, and bytes read from them are gone for other readers.
    /// - A chunk of a FIFO is returned when it is full or at the end. Waiting for it uses no thread.
    /// - Cancellation: The next chunk throws `CancellationError`, which ends the iteration. A chunk that is being read when the
    ///   task is cancelled may still be returned.
    /// - Failure: A ``FileError``. It is thrown after the chunks before it, and ends the iteration.
    public func chunks(of size: Int = 256 << 10, readAhead: Int = 1, using files: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        precondition(readAhead >= 0, "The number of chunks to read ahead must not be negative; it is \(readAhead).")
        return FileChunks(.url(self, readAhead: readAhead), size: size, files)
    }
}

/// The bytes of a file, an open stream or a descriptor in chunks.
///
/// See `URL.chunks(of:readAhead:using:)`, `AsyncFileStream.chunks(of:readAhead:)`, ``FileIO/chunks(descriptor:name:upTo:)`` and
/// `FileHandle.chunks(of:using:)`. These also say how often the sequence can be iterated.
public struct FileChunks: AsyncSequence, Sendable {
    enum Source: Sendable {
        /// Each iteration opens the file.
        case url(URL, readAhead: Int)
        /// One iteration takes the file.
        case stream(FileToIterate, readAhead: Int)
        /// Each iteration continues at the position of the descriptor. `owner` keeps it open.
        case descriptor(CInt, name: String, owner: (any AnyObject & Sendable)?)
    }

    private let source: Source
    private let size: Int
    private let io: FileIO

    init(_ source: Source, size: Int, _ io: FileIO) {
        self.source = source
        self.size = size
        self.io = io
    }

    /// Starts an iteration at the first byte of a file, or at the current position of a stream or descriptor.
    ///
    /// - Precondition: The sequence of an open stream is iterated only once.
    public func makeAsyncIterator() -> Iterator {
        switch source {
        case .url(let url, let readAhead):
            Iterator(.reader(ChunkReader.Owner(ChunkReader(.url(url), size: size, readAhead: readAhead, io))))
        case .stream(let file, let readAhead):
            Iterator(.reader(ChunkReader.Owner(ChunkReader(.file(file.take()), size: size, readAhead: readAhead, io))))
        case .descriptor(let descriptor, let name, let owner):
            Iterator(
                .descriptor(DescriptorReader(io: io, descriptor: descriptor, name: name, size: size, owner: owner)))
        }
    }

    /// An iterator over the chunks. Copies of an iterator share one position.
    public struct Iterator: AsyncIteratorProtocol {
        enum Reader {
            case reader(ChunkReader.Owner)
            case descriptor(DescriptorReader)
            case ended
        }

        private var reader: Reader

        init(_ reader: Reader) { self.reader = reader }

        /// Returns the next chunk, or `nil` after the last one.
        public mutating func next() async throws -> Data? {
            try await next(isolation: #isolation)
        }

        /// Returns the next chunk, or `nil` after the last one. Suspends on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            switch reader {
            case .reader(let owner): return try await owner.reader.next(isolation: actor)
            case .ended: return nil
            case .descriptor(let descriptor):
                reader = .ended
                guard let chunk = try await descriptor.next() else { return nil }
                reader = .descriptor(descriptor)
                return chunk
            }
        }
    }
}

struct DescriptorReader: Sendable {
    let io: FileIO
    let descriptor: CInt
    let name: String
    let size: Int
    /// An object that closes the descriptor in its `deinit`, kept alive until the iteration ends.
    let owner: (any AnyObject & Sendable)?

    func next() async throws -> Data? {
        let chunk = try await io.read(upToCount: size, descriptor: descriptor, name: name)
        withExtendedLifetime(owner) {}
        return chunk.isEmpty ? nil : chunk
    }
}

/// An open file, shared by all copies of a sequence until the single iteration takes it.
final class FileToIterate: Sendable {
    private let file: Lock<OpenFile?>

    init(_ file: OpenFile) { self.file = Lock(file) }

    func take() -> OpenFile {
        guard let file = file.withLock({ $0.take() }) else {
            preconditionFailure(
                "The chunks of an open file may be iterated only once. Use 'url.chunks(of:)' to iterate again.")
        }
        return file
    }
}
