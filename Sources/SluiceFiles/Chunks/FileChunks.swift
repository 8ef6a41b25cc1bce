internal import SluiceLock

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
    /// worker. Each iteration opens it again.
    ///
    /// While the loop works on a chunk, up to `readAhead` chunks are read and kept for it, no more: the consumer sets the
    /// pace, and memory is bounded by `readAhead + 2` chunks. A thread is held only while it reads.
    ///
    /// - What the system has in memory is copied on the calling thread when it is asked for, in chunks of up to 256 KiB:
    ///   handing it over from another thread would take longer. The first chunk that is not there begins the reading ahead.
    ///   See ``FileIO/Lane``.
    /// - Only of a regular file that states a size is anything read ahead: a FIFO, a terminal and some files of /proc block
    ///   for as long as another process likes, and what was read of them is gone for others.
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
    ///   - files: The engine to run on.
    public func chunks(of size: Int = 256 << 10, readAhead: Int = 1, using files: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        precondition(readAhead >= 0, "What is read ahead is not negative.")
        return FileChunks(.url(self, readAhead: readAhead), size: size, files)
    }
}

/// Bytes in chunks: of a file, of an open stream, or of a descriptor.
///
///     for try await chunk in url.chunks() { digest.update(chunk) }
///     for try await line in files.chunks(descriptor: 0, name: "standard input").lines() { print(line) }
///
/// What a chunk is, what is read ahead and how often the sequence can be iterated depends on where it comes from: see
/// `URL.chunks(of:readAhead:using:)`, `AsyncFileStream.chunks(of:readAhead:)`, ``FileIO/chunks(descriptor:name:upTo:)`` and
/// `FileHandle.chunks(of:using:)`.
public struct FileChunks: AsyncSequence, Sendable {
    enum Source: Sendable {
        /// Each iteration opens the file.
        case url(URL, readAhead: Int)
        /// One iteration takes the file.
        case stream(FileToIterate, readAhead: Int)
        /// Each iteration goes on where the descriptor is. `owner` keeps it open.
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

    /// Begins an iteration: at the first byte of a file, where a stream or descriptor is otherwise.
    ///
    /// A second iteration of the chunks of an open stream is a programmer's error and stops the program.
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

    /// Gives one chunk after the other. Copies of an iterator share one place.
    public struct Iterator: AsyncIteratorProtocol {
        enum Reader {
            case reader(ChunkReader.Owner)
            case descriptor(DescriptorReader)
            case ended
        }

        private var reader: Reader

        init(_ reader: Reader) { self.reader = reader }

        /// The next chunk, nil after the last.
        public mutating func next() async throws -> Data? {
            try await next(isolation: #isolation)
        }

        /// The next chunk, nil after the last. Suspends on the caller's actor.
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

/// Reads what there is on a descriptor of the caller's.
struct DescriptorReader: Sendable {
    let io: FileIO
    let descriptor: CInt
    let name: String
    let size: Int
    /// What would close the descriptor when it goes, and is kept until then.
    let owner: (any AnyObject & Sendable)?

    /// The next bytes, nil at the end.
    func next() async throws -> Data? {
        let chunk = try await io.read(upToCount: size, descriptor: descriptor, name: name)
        withExtendedLifetime(owner) {}
        return chunk.isEmpty ? nil : chunk
    }
}

/// An open file until the one iteration over its chunks takes it: all copies of the sequence share it.
final class FileToIterate: Sendable {
    private let file: Lock<OpenFile?>

    init(_ file: OpenFile) { self.file = Lock(file) }

    func take() -> OpenFile {
        guard let file = file.withLock({ $0.take() }) else {
            preconditionFailure(
                "The chunks of an open file are iterated once: its bytes are gone then. Iterate `url.chunks(of:)`.")
        }
        return file
    }
}
