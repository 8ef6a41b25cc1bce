internal import DequeModule
internal import SluiceLock
internal import Synchronization

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
    /// - Chunks of up to 256 KiB that are in the page cache are copied on the calling thread, because a thread hop would take longer. The
    ///   first chunk that isn't cached starts the read-ahead. See ``FileIO/Lane``.
    /// - Only regular files that report a size are read ahead. A FIFO, a terminal and some files of /proc can block until another process
    ///   writes, and bytes that are read ahead are lost to other readers.
    /// - A chunk of a FIFO is returned when it is full or at the end. Waiting for it uses no thread.
    /// - Precondition: `size` is at least 1, and `readAhead` isn't negative.
    /// - Cancellation: The next chunk throws `CancellationError`, which ends the iteration. A chunk that is being read when the
    ///   task is cancelled may still be returned.
    /// - Failure: A ``FileError``. It is thrown after the chunks that precede it, and ends the iteration.
    public func chunks(of size: Int = 256 << 10, readAhead: Int = 1, using files: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        precondition(readAhead >= 0, "The number of chunks to read ahead must not be negative; it is \(readAhead).")
        return FileChunks(.url(self, readAhead: readAhead), size: size, files)
    }
}

extension AsyncFileStream where Mode == ReadMode {
    /// Returns the remaining bytes of the file in chunks of `size` bytes; the last chunk may be shorter.
    ///
    ///     let stream = try await url.openForReading()
    ///     let header = try await stream.read(upToCount: 512)
    ///     for try await chunk in stream.chunks() { … }               // closes the file; use after that does not compile
    ///
    /// The call consumes the stream, because its next read would miss the bytes that were read ahead. The file is closed as soon as its end
    /// has been read, or when the iterator is dropped. Without an iteration, it is closed when the last copy of the sequence is dropped.
    ///
    /// Iterate the sequence only once: a second iteration traps. To iterate several times, use `url.chunks(of:)`, which opens the
    /// file for each iteration. Parameters, cancellation and failure are the same as in `URL.chunks(of:readAhead:using:)`.
    ///
    /// - Precondition: `size` is at least 1, and `readAhead` isn't negative.
    public consuming func chunks(of size: Int = 256 << 10, readAhead: Int = 1) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        precondition(readAhead >= 0, "The number of chunks to read ahead must not be negative; it is \(readAhead).")
        return FileChunks(.stream(FileToIterate(file), readAhead: readAhead), size: size, file.io)
    }
}

/// The bytes of a file, an open stream or a descriptor in chunks.
///
/// See `URL.chunks(of:readAhead:using:)`, `AsyncFileStream.chunks(of:readAhead:)`, ``FileIO/chunks(descriptor:name:upTo:)`` and
/// `FileHandle.chunks(of:using:)`. They also say how many times the sequence can be iterated.
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
        ///
        /// - Precondition: No other call for this iterator or a copy of it is waiting.
        public mutating func next() async throws -> Data? {
            try await next(isolation: #isolation)
        }

        /// Returns the next chunk, or `nil` after the last one. Suspends on the caller's actor.
        ///
        /// - Precondition: No other call for this iterator or a copy of it is waiting.
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

// MARK: - State

/// The state of one iteration over chunks. A pure value.
///
/// ```text
/// consumer                              reader (at most one at a time)
/// ask: no chunk, waits                  starts
///                                       arrived: resumes the consumer; there is room: continues
/// works on chunk 1                      arrived: keeps chunk 2; no room: pauses
/// ask: returns chunk 2                  starts
/// ```
///
/// Chunks are returned in order. An error is returned once, after the chunks that were read before it; then the iteration ends.
package struct ReadAhead<Waiter> {
    package typealias Answer = Result<Data?, any Error>

    /// The largest number of chunks to keep while the consumer isn't waiting, including the one being read.
    package var depth: Int
    private var chunks = Deque<Data>()
    private var waiter: Waiter?
    private var end: Result<Void, any Error>?
    /// Whether a reader was told to start and hasn't been told to pause.
    private(set) package var isReading = false

    package init(depth: Int) { self.depth = depth }

    package var count: Int { chunks.count }

    package var isIdle: Bool { chunks.isEmpty && !isReading && end == nil }

    private var wantsMore: Bool {
        end == nil && (waiter != nil || chunks.count < depth)
    }

    // MARK: The consumer

    /// Returns the next chunk, the end or the error if it is known. `reads` is true if a reader must start.
    package mutating func take() -> (answer: Answer?, reads: Bool) {
        precondition(waiter == nil, "Only one task at a time may iterate over the chunks.")
        if let chunk = chunks.popFirst() { return (.success(chunk), beginsReading()) }
        switch end {
        case .failure(let error):
            end = .success(())
            return (.failure(error), false)
        case .success: return (.success(nil), false)
        case nil: return (nil, false)
        }
    }

    /// Like ``take()``, but keeps the waiter if there is no answer yet.
    package mutating func ask(_ waiter: Waiter) -> (answer: Answer?, reads: Bool) {
        let taken = take()
        if taken.answer != nil { return taken }
        self.waiter = waiter
        return (nil, beginsReading())
    }

    /// Ends the iteration from the consumer's side. Returns the chunks that are ready; the caller destroys them outside its lock.
    package mutating func abandon() -> [Data] {
        if end == nil { end = .success(()) }
        defer { chunks = [] }
        return Array(chunks)
    }

    private mutating func beginsReading() -> Bool {
        guard !isReading, wantsMore else { return false }
        isReading = true
        return true
    }

    // MARK: The reader

    /// Takes a chunk, the end, or both. If `goesOn` is true, the reader must read the next chunk immediately; otherwise it has paused.
    package mutating func arrived(
        _ chunk: Data?, end: Result<Void, any Error>?
    ) -> (waiter: Waiter?, answer: Answer, goesOn: Bool) {
        // An abandoned iteration has already ended.
        if self.end == nil {
            if let chunk { chunks.append(chunk) }
            self.end = end
        }
        guard let waiter = self.waiter.take() else {
            isReading = wantsMore
            return (nil, .success(nil), isReading)
        }
        let answer = take().answer ?? .success(nil)
        isReading = wantsMore
        return (waiter, answer, isReading)
    }
}

// MARK: - Reading ahead

/// One iteration over the chunks of a file: reads on a lane, keeps the chunks that were read ahead, and closes the file.
///
/// The reading jobs belong to the iteration, not to a task. At most one job runs at a time. When the owner is dropped, a queued
/// job leaves the queue immediately. A running job finishes, its result is dropped, and the file is closed on a worker.
final class ChunkReader: Sendable {
    /// Ends the iteration when the last copy of an iterator is dropped.
    final class Owner: Sendable {
        let reader: ChunkReader
        init(_ reader: ChunkReader) { self.reader = reader }
        deinit { reader.abandon() }
    }

    enum Source { case url(URL), file(OpenFile), closed }

    typealias Waiter = CheckedContinuation<Data?, any Error>

    private struct State {
        var chunks: ReadAhead<Waiter>
        var source: Source
        var job: ChunkJob?
        var isCancelled = false
        /// The start of the next chunk, read by the inline lane.
        var begun = Data()
    }

    fileprivate let io: FileIO
    private let size: Int
    private let readAhead: Int
    private let state: Lock<State>
    /// The file, if the readiness lane reads it: one chunk per call, without a job.
    private let waitedFor: Lock<OpenFile?>

    /// After this many bytes, a job yields its thread and goes to the back of the queue.
    private static var maximumPerJob: Int { 4 << 20 }
    /// Smaller than for other reads, because a larger chunk is better copied on another thread while the consumer works.
    private static var maximumInline: Int { 256 << 10 }

    init(_ source: sending Source, size: Int, readAhead: Int, _ io: FileIO) {
        self.io = io
        self.size = size
        self.readAhead = readAhead
        if case .file(let file) = source, file.isWaitedFor { waitedFor = Lock(file) } else { waitedFor = Lock(nil) }
        // Read-ahead is decided once the file is open.
        state = Lock(State(chunks: ReadAhead(depth: 0), source: source))
    }

    // MARK: The consumer

    func next(isolation: isolated (any Actor)?) async throws -> Data? {
        do {
            try Task.checkCancellation()
        } catch {
            abandon()
            throw error
        }
        if let file = waitedFor.withLock({ $0 }) { return try await nextOnceReady(file) }
        if let answer = answer({ $0.take() }) { return try answer.get() }
        if let chunk = readInline() { return chunk }
        do {
            return try await nextFromJob(isolation: isolation)
        } catch let opened as OpenedToWaitFor {
            waitedFor.withLock { $0 = opened.file }
            return try await nextOnceReady(opened.file)
        }
    }

    private func nextOnceReady(_ file: OpenFile) async throws -> Data? {
        do {
            let chunk = try await file.readWhenReady(upToCount: size)
            if chunk.count < size {
                abandon()
                try? await file.close()
            }
            return chunk.isEmpty ? nil : chunk
        } catch {
            abandon()
            try? await file.close()
            throw error
        }
    }

    private func nextFromJob(isolation: isolated (any Actor)?) async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let answer = answer({ $0.ask(continuation) }) { continuation.resume(with: answer) }
            }
        } onCancel: {
            let job = state.withLock { state in
                state.isCancelled = true
                return state.job
            }
            if let job { cancel(job) }
        }
    }

    /// Returns the next chunk if all of it is in the page cache: copying it on this thread takes less time than a thread hop. The first
    /// chunk that isn't fully cached starts the read-ahead, and a job continues with the part that was read.
    private func readInline() -> Data? {
        let idle = state.withLock { state -> OpenFile? in
            guard case .file(let file) = state.source, state.chunks.isIdle else { return nil }
            return file
        }
        guard let file = idle, mayReadInline(file) else { return nil }
        var buffer = ReadBuffer(expected: size)
        buffer.append(atMost: size) { io.readInline(file, into: $0) }
        if buffer.count == size { return buffer.data() }
        let begun = buffer.data()
        state.withLock { state in
            state.begun = begun
            state.chunks.depth = depth(of: file)
        }
        return nil
    }

    private func mayReadInline(_ file: OpenFile) -> Bool {
        io.inline.isOpen && file.mayReadInline && size <= Self.maximumInline
    }

    private func answer(
        _ ask: (inout ReadAhead<Waiter>) -> (answer: ReadAhead<Waiter>.Answer?, reads: Bool)
    ) -> ReadAhead<Waiter>.Answer? {
        let (answer, job) = state.withLock { state -> (ReadAhead<Waiter>.Answer?, ChunkJob?) in
            let (answer, reads) = ask(&state.chunks)
            return (answer, reads ? newJob(&state) : nil)
        }
        if let job { io.pool.submit(job) }
        return answer
    }

    private func abandon() {
        let (job, dropped) = state.withLock { state -> (ChunkJob?, (Source, [Data])) in
            defer { state.source = .closed }
            return (state.job, (state.source, state.chunks.abandon()))
        }
        let droppedFile = waitedFor.withLock { $0.take() }
        if let job { cancel(job) }
        // The file is closed on a lane once a running job has released it too.
        withExtendedLifetime((dropped, droppedFile)) {}
    }

    private func cancel(_ job: ChunkJob) {
        job.isCancelled.store(true, ordering: .sequentiallyConsistent)
        io.pool.withdraw(job)
    }

    // MARK: The jobs

    private func newJob(_ state: inout State) -> ChunkJob {
        let job = ChunkJob(self)
        job.isCancelled.store(state.isCancelled, ordering: .sequentiallyConsistent)
        state.job = job
        return job
    }

    /// Reads while there is room. Returns the work that remains after the lane has counted the job as finished.
    fileprivate func work(_ job: ChunkJob) -> ChunkJob.Rest {
        var left = Self.maximumPerJob
        while true {
            var file: OpenFile?
            var chunk: Data?
            var end: Result<Void, any Error>?
            do {
                let opened = try opened()
                file = opened
                let bytes = try read(opened, Cancellation(job: job))
                left -= bytes.count
                if bytes.count < size { end = .success(()) }
                if bytes.count > 0 { chunk = bytes }
            } catch {
                end = .failure(error)
            }
            if end != nil, let file {
                // An earlier failure takes precedence over this one.
                let closing = Result { try file.closeOnce() }
                if case .success = end { end = closing }
            }
            let step = arrived(chunk, end, mayGoOn: left > 0)
            if !step.goesOn { return step.rest }
            step.rest.finish()
        }
    }

    private func read(_ file: OpenFile, _ cancellation: borrowing Cancellation) throws -> Data {
        let begun = state.withLock { state in
            defer { state.begun = Data() }
            return state.begun
        }
        // The size at opening is a hint for the first allocation: a small file doesn't need a whole chunk's memory.
        let expected = max(64 << 10, Int(clamping: file.status.size))
        let rest = try io.system.read(
            file.descriptor, upToCount: size - begun.count, expected: expected, file.path, cancellation)
        return begun.isEmpty ? rest.data() : begun + rest.data()
    }

    private func arrived(
        _ chunk: Data?, _ end: Result<Void, any Error>?, mayGoOn: Bool
    ) -> (rest: ChunkJob.Rest, goesOn: Bool) {
        let (step, dropped) = state.withLock { state in
            var rest = ChunkJob.Rest()
            let step = state.chunks.arrived(chunk, end: end)
            rest.waiter = step.waiter
            rest.answer = step.answer
            let goesOn = step.goesOn && mayGoOn
            if !goesOn { state.job = nil }
            if step.goesOn && !mayGoOn { rest.next = newJob(&state) }
            let dropped = state.source
            if end != nil { state.source = .closed }
            return ((rest, goesOn), dropped)
        }
        withExtendedLifetime(dropped) {}
        return step
    }

    private func opened() throws -> OpenFile {
        switch state.withLock({ $0.source }) {
        case .file(let file):
            if !mayReadInline(file) { state.withLock { $0.chunks.depth = depth(of: file) } }
            return file
        case .closed: throw CancellationError()
        case .url(let url):
            let file = OpenFile(try io.system.openToRead(try Path.of(url, for: "open")), io)
            if file.isWaitedFor { throw OpenedToWaitFor(file: file) }
            state.withLock { state in
                guard case .url = state.source else { return }  // Abandoned in the meantime.
                state.source = .file(file)
                if !mayReadInline(file) { state.chunks.depth = depth(of: file) }
            }
            return file
        }
    }

    private func depth(of file: OpenFile) -> Int { file.mayBeReadAhead ? readAhead : 0 }

    fileprivate func refuse(_ error: any Error) {
        arrived(nil, .failure(error), mayGoOn: false).rest.finish()
    }
}

/// Thrown by the first job if the file must be waited for, such as a FIFO. Jobs don't read those files.
private struct OpenedToWaitFor: Error {
    let file: OpenFile
}

extension OpenFile {
    /// Only a regular file that reports a size is read ahead. Some files in /proc and tracefs report a size of 0, and block.
    fileprivate var mayBeReadAhead: Bool { status.isRegularFile && status.size > 0 }
}

private final class ChunkJob: Job, @unchecked Sendable {
    // `reader` is immutable. `rest` is set by `perform` and read by `deliver`, one after the other on the lane's thread.
    private let reader: ChunkReader
    private var rest = Rest()

    /// The work to do after a chunk, without holding a lock.
    struct Rest {
        var waiter: ChunkReader.Waiter?
        var answer: ReadAhead<ChunkReader.Waiter>.Answer = .success(nil)
        var next: ChunkJob?

        func finish() {
            waiter?.resume(with: answer)
            if let next { next.reader.io.pool.submit(next) }
        }
    }

    init(_ reader: ChunkReader) {
        self.reader = reader
        super.init(mustRun: false)
    }

    override func perform() { rest = reader.work(self) }

    override func deliver() {
        let rest = rest
        self.rest = Rest()
        rest.finish()
    }

    override func refuse(_ error: any Error) { reader.refuse(error) }
}
