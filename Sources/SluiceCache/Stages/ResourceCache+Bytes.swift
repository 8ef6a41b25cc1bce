public import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ResourceCache {
    /// Returns the response to a request, with a body that the caller reads while it arrives.
    ///
    ///     let response = try await cache.bytes(for: TransportRequest(url))
    ///     for try await chunk in response.body { try await player.play(chunk) }
    ///
    /// The rules are those of ``response(for:mode:)``, but the memory that a body takes doesn't depend on its length, and
    /// ``Configuration/maximumResponseSize`` doesn't apply. Use it for responses that are larger than memory allows, or that are useful
    /// before they are complete.
    ///
    /// The body is stored on disk while it arrives, if it may be stored and is at most ``Configuration/maximumDiskEntrySize`` long. A large
    /// body comes from the disk in pieces, after its digest has been compared. Bodies that arrive reserve at most half of
    /// ``Configuration/maximumDiskSize``; a further one isn't stored.
    ///
    /// **Sharing.** Callers that request the same response while it arrives read the same exchange, each from the beginning. If the body is
    /// stored, each of them reads at its own speed. If it isn't stored, the slowest caller sets the speed, because only 1 MiB is held in
    /// memory. A caller that comes after the beginning has been dropped sends its own request.
    ///
    /// - Cancellation: The call, and the next chunk of the body, throw `CancellationError` immediately. The exchange ends with its last
    ///   reader, and what has arrived is removed. A response that has arrived completely is stored even then.
    /// - Failure: A `TransferError`. An exchange that fails before its body is tried again, as with ``response(for:mode:)``; an error of the
    ///   body is thrown after the chunks that arrived before it.
    public func bytes(for request: TransportRequest, mode: LookupMode = .useCache) async throws -> StreamedResponse {
        try checkOpen(for: request.url)
        return try await answer(to: CacheRequest(request, mode: mode, isStreamed: true)).streamed(for: request.url)
    }
}
