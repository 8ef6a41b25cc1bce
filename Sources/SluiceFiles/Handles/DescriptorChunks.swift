#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The bytes of an open descriptor in chunks, as they arrive: see ``FileIO/chunks(ofDescriptor:name:upTo:)``.
public struct DescriptorChunks: AsyncSequence, Sendable {
    let descriptor: CInt
    let name: String
    let size: Int
    let io: FileIO
    /// What would close the descriptor when it goes, and is kept until then.
    let owner: (any AnyObject & Sendable)?

    /// Goes on where the descriptor is.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    /// Gives one chunk after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var chunks: DescriptorChunks?

        /// The next chunk, nil after the last.
        public mutating func next() async throws -> Data? {
            try await next(isolation: #isolation)
        }

        /// The next chunk, nil after the last. Suspends on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            guard let chunks else { return nil }
            self.chunks = nil
            let chunk = try await chunks.io.read(
                upToCount: chunks.size, fromDescriptor: chunks.descriptor, name: chunks.name)
            withExtendedLifetime(chunks.owner) {}
            if chunk.isEmpty { return nil }
            self.chunks = chunks
            return chunk
        }
    }
}
