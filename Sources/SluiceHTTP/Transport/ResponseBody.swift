#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
import SluiceLock

/// The bytes of a response as they arrive, once.
///
///     for try await chunk in response.body { try await output.write(chunk) }
///
/// Reading too slowly slows the sender down: a bounded number of bytes waits in memory. The sequence can be read once, by
/// one task. Cancelling that task ends the exchange and throws `CancellationError`; what had arrived is lost. An exchange
/// that breaks throws a ``TransferError`` after the bytes that arrived before it did.
public struct ResponseBody: AsyncSequence, Sendable {
    private let reader: Reader

    /// A body that reads from `source`; for transports.
    public init(_ source: any ResponseBodySource) {
        reader = Reader(source)
    }

    /// Begins to read. A second iterator goes on where the first one is.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: reader)
    }

    /// All the bytes from here to the end, at most `limit` of them.
    ///
    ///     let page = try await response.body.collect(upTo: 1_000_000)
    ///
    /// - Throws: What reading throws; ``TooLong`` as soon as there are more bytes, after which the rest cannot be read.
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

    /// The times of the exchange so far.
    var timings: TransportTimings? { reader.timings }

    /// A body had more bytes than the reader wanted.
    public struct TooLong: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
        /// How many were wanted at most.
        public let limit: Int

        /// One line.
        public var description: String {
            "The response has more than \(limit) bytes. Allow more, or read it chunk by chunk."
        }

        /// The same line as ``description``.
        public var errorDescription: String? { description }
    }

    /// Reads a body chunk by chunk, or batch by batch.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        /// The next bytes, never empty; nil at the end.
        public mutating func next() async throws -> Data? {
            try await reader.nextChunk()
        }

        /// Everything that has arrived and was not read yet, in order, in as many pieces as it arrived in; nil at the end.
        ///
        /// One call after another this costs one suspension for many chunks, and suits writers that take several pieces.
        public mutating func nextBatch() async throws -> [Data]? {
            try await reader.nextBatch()
        }
    }

    /// What the iterators of a body share: the rest of the batch that is being read.
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
