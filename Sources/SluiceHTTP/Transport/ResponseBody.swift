#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import SluiceLock

/// The body of a response: an asynchronous sequence of chunks of bytes, in order.
///
///     for try await chunk in response.body { try await output.write(chunk) }
///
/// A body can be iterated once, by one task at a time. A bounded number of bytes is buffered, so a slow reader slows the server down.
///
/// - Cancellation: The next chunk throws `CancellationError` immediately, which ends the exchange. The buffered bytes are dropped.
/// - Failure: A ``TransferError``. It is thrown after the chunks that arrived before it, and ends the iteration.
public struct ResponseBody: AsyncSequence, Sendable {
    private let reader: Reader

    /// Creates a body that reads from `source`. Transports call this initializer.
    public init(_ source: any ResponseBodySource) {
        reader = Reader(source)
    }

    /// Returns an iterator over the remaining chunks. All iterators of a body share one position.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: reader)
    }

    /// Returns the remaining bytes if there are at most `limit`.
    ///
    /// - Throws: ``TooLong`` as soon as more than `limit` bytes have arrived, or the error of reading the body. The bytes that were read
    ///   are lost.
    public func collect(upTo limit: Int) async throws -> Data {
        var data = Data()
        while let batch = try await reader.nextBatch() {
            for chunk in batch {
                guard chunk.count <= limit - data.count else { throw TooLong(limit: limit) }
                data.append(chunk)
            }
        }
        return data
    }

    var timings: TransportTimings? { reader.timings }

    /// The error of ``ResponseBody/collect(upTo:)`` if the body has more bytes than the limit.
    public struct TooLong: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// The limit that was passed to ``ResponseBody/collect(upTo:)``.
        public let limit: Int

        /// The problem and a remedy, on one line.
        public var description: String {
            "The response body has more than \(limit) bytes. Raise the limit, or read the body chunk by chunk."
        }

        /// The same text as ``description``.
        public var errorDescription: String? { description }
    }

    /// An iterator that reads a body chunk by chunk, or in batches of chunks.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        /// Returns the next chunk, which is never empty, or `nil` at the end of the body.
        public mutating func next() async throws -> Data? {
            try await reader.nextChunk()
        }

        /// Waits until at least one chunk has arrived, and returns all unread chunks, or `nil` at the end of the body.
        ///
        /// Reading in batches suspends less often than ``next()``, and suits writers that accept several chunks.
        public mutating func nextBatch() async throws -> [Data]? {
            try await reader.nextBatch()
        }
    }

    /// The state that the iterators of a body share: the unread chunks of the current batch.
    fileprivate final class Reader: Sendable {
        private let source: any ResponseBodySource
        private let pending = Lock<ArraySlice<Data>>([])

        init(_ source: any ResponseBodySource) { self.source = source }

        var timings: TransportTimings? { source.timings }

        func nextChunk() async throws -> Data? {
            while true {
                if let chunk = pending.withLock({ $0.popFirst() }) {
                    if chunk.isEmpty { continue }
                    return chunk
                }
                guard let batch = try await source.nextBatch() else { return nil }
                pending.withLock { $0 += batch }
            }
        }

        func nextBatch() async throws -> [Data]? {
            let rest = pending.withLock { pending in
                defer { pending = [] }
                return pending
            }
            return rest.isEmpty ? try await source.nextBatch() : Array(rest)
        }
    }
}
