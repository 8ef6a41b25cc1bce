internal import SluiceLock
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

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

    /// After this many bytes a job gives up its thread and goes to the end of the queue.
    private static var maximumPerJob: Int { 4 << 20 }
    /// Smaller than for other reads: a larger chunk is better copied on another thread while the consumer works.
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

    /// Returns the next chunk if all of it is in the page cache: copying it on this thread takes less time than a handover. The
    /// first chunk that isn't fully cached starts the read-ahead, and a job continues with the part that was read.
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
        if let job { io.submit(job) }
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
        io.withdraw(job)
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
        let rest = try io.kernel.read(
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
            let file = OpenFile(try io.kernel.openToRead(try Path.of(url, for: "open")), io)
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

/// Thrown by the first job for a file that is waited for, such as a FIFO. No job reads it.
private struct OpenedToWaitFor: Error {
    let file: OpenFile
}

extension OpenFile {
    /// Only a regular file that reports a size is read ahead. Some files of /proc and tracefs report size 0, and block.
    fileprivate var mayBeReadAhead: Bool { status.isRegularFile && status.size > 0 }
}

private final class ChunkJob: Job, @unchecked Sendable {
    // `reader` is immutable. `rest` is set by `perform` and read by `deliver`, one after the other on the lane's thread.
    private let reader: ChunkReader
    private var rest = Rest()

    /// The work that follows a chunk and is done without a lock.
    struct Rest {
        var waiter: ChunkReader.Waiter?
        var answer: ReadAhead<ChunkReader.Waiter>.Answer = .success(nil)
        var next: ChunkJob?

        func finish() {
            waiter?.resume(with: answer)
            if let next { next.reader.io.submit(next) }
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
