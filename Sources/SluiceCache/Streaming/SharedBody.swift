import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A body that arrives, for any number of readers. Each of them reads all bytes.
///
/// This isn't a `SharedSequence`, because a file has the bytes that have left the memory: a late reader still gets all of them, and a slow
/// one doesn't slow the others down.
final class SharedBody: Sendable {
    private let state: Lock<SharedBodyState>
    /// The file that the body is written to.
    private let file: RandomAccessFile?
    /// For errors.
    private let url: URL

    init(spoolingTo file: RandomAccessFile?, of url: URL) {
        self.file = file
        self.url = url
        state = Lock(SharedBodyState(isSpooling: file != nil))
    }

    // MARK: The transfer

    func append(_ chunks: [Data]) {
        state.withLock { $0.append(chunks) }.signal()
    }

    func spool() { state.withLock { $0.spool() } }

    func stopSpooling() { state.withLock { $0.stopSpooling() } }

    func waitForRoom() async throws {
        while let fullness = state.withLock({ $0.fullness }) { try await fullness.waitUnlessCancelled() }
    }

    /// Ends the body. The first end counts.
    func finish(throwing error: (any Error)? = nil) {
        state.withLock { $0.finish(error) }.signal()
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    var isSpooling: Bool { state.withLock { $0.isSpooling } }

    // MARK: Readers

    func join() -> Int? { state.withLock { $0.join() } }

    func leave(_ reader: Int) { state.withLock { $0.leave(reader) }?.signal() }

    func nextBatch(_ reader: Int) async throws -> [Data]? {
        while true {
            try Task.checkCancellation()
            let (step, signal) = state.withLock { $0.next(reader) }
            signal?.signal()
            switch step {
            case .chunks(let chunks): return chunks
            case .end(let error?): throw error
            case .end(nil): return nil
            case .wait(let arrival): try await arrival.waitUnlessCancelled()
            case .file(let range):
                let data = try await file?.readBody(range, of: url)
                guard let data else { preconditionFailure("Bytes leave the memory only if they are in a file.") }
                state.withLock { $0.read(reader, upTo: range.lowerBound + Int64(data.count)) }
                return [data]
            }
        }
    }
}

/// A running transfer, which lives as long as any of its readers. Then it is cancelled.
final class SharedTransfer: Sendable {
    let response: CachedResponse
    private let body: SharedBody
    private let task: Task<Void, Never>

    init(_ response: CachedResponse, _ body: SharedBody, _ task: Task<Void, Never>) {
        self.response = response
        self.body = body
        self.task = task
    }

    deinit { task.cancel() }

    func isOf(_ body: SharedBody) -> Bool { self.body === body }

    /// Whether the body is written to the file of the cache.
    var isSpooling: Bool { body.isSpooling }

    /// Returns a new reader of the whole body, or `nil` if its beginning is lost.
    func makeReader() -> SharedBodyReader? {
        body.join().map { SharedBodyReader(self, body, $0) }
    }
}

/// One reader of a ``SharedBody``. It leaves when it is released, or when its task is cancelled.
final class SharedBodyReader: ResponseBodySource {
    private let body: SharedBody
    private let number: Int
    /// `nil` after the end.
    private let transfer: Lock<SharedTransfer?>

    fileprivate init(_ transfer: SharedTransfer, _ body: SharedBody, _ number: Int) {
        self.body = body
        self.number = number
        self.transfer = Lock(transfer)
    }

    deinit { body.leave(number) }

    func nextBatch() async throws -> [Data]? {
        let isOpen = transfer.withLock { $0 != nil }
        guard isOpen else { return nil }
        do {
            if let batch = try await body.nextBatch(number) { return batch }
            end()
            return nil
        } catch {
            end()
            throw error
        }
    }

    private func end() {
        body.leave(number)
        // The last reference cancels the transfer, which must not happen under the lock.
        let last = transfer.withLock { $0.take() }
        _ = last
    }
}
