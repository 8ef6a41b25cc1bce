#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The bytes of a response as they arrive, once.
///
///     for try await chunk in response.body { try await output.write(chunk) }
///
/// Reading too slowly slows the sender down: a bounded number of bytes waits in memory. The sequence can be read once, by
/// one task. Cancelling that task ends the exchange and throws `CancellationError`; what had arrived is lost. An exchange
/// that breaks throws a ``TransportError`` after the bytes that arrived before it did.
public struct ResponseBody: AsyncSequence, Sendable {
    let source: any ResponseBodySource

    /// A body that reads from `source`; for transports.
    public init(_ source: any ResponseBodySource) {
        self.source = source
    }

    /// Begins to read. A second iterator goes on where the first one is.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: source)
    }

    /// Reads a body chunk by chunk, or batch by batch.
    public struct Iterator: AsyncIteratorProtocol {
        let source: any ResponseBodySource
        var pending: ArraySlice<Data> = []

        /// The next bytes, never empty; nil at the end.
        public mutating func next() async throws -> Data? {
            while true {
                if let chunk = pending.popFirst() {
                    if chunk.isEmpty { continue }
                    return chunk
                }
                guard let batch = try await source.nextBatch() else { return nil }
                pending = batch[...]
            }
        }

        /// Everything that has arrived and was not read yet, in order, in as many pieces as it arrived in; nil at the end.
        ///
        /// One call after another this costs one suspension for many chunks, and suits writers that take several pieces.
        public mutating func nextBatch() async throws -> [Data]? {
            guard pending.isEmpty else {
                defer { pending = [] }
                return Array(pending)
            }
            return try await source.nextBatch()
        }
    }
}

/// Where a ``ResponseBody`` comes from; for those who write a ``Transport``.
public protocol ResponseBodySource: AnyObject, Sendable {
    /// All bytes that have arrived since the last call, waiting for at least one; nil at the end, also when asked again.
    func nextBatch() async throws -> [Data]?
}
