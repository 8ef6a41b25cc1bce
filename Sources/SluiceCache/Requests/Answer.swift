import HTTPTypes
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The result of a request to the cache.
struct Answer: Sendable {
    /// The response. Its body is empty if it is in `stream`.
    var response: CachedResponse
    var stream: Stream?
    /// The stored response that the answer came from, or was just stored as.
    var stored: Stored?
    /// The number of attempts.
    var attempts = 1
    var cacheStatus = CacheStatus()

    struct Stored: Sendable {
        var head: StoredResponse.Head
        var location: RowReference

        /// The version of the response on disk; `nil` if it isn't on disk.
        var row: Int64? { location.row }

        init(head: StoredResponse.Head, location: RowReference) {
            (self.head, self.location) = (head, location)
        }

        init(head: StoredResponse.Head, row: Int64?) { self.init(head: head, location: RowReference(row)) }
    }

    /// A body that isn't in memory.
    enum Stream: Sendable {
        case file(RandomAccessFile, Range<Int64>)
        /// The reader keeps the beginning of the body until all callers have their own readers.
        case transfer(SharedTransfer, SharedBodyReader)
    }
}

extension Answer {
    init(_ transfer: SharedTransfer, _ reader: SharedBodyReader) {
        self.init(response: transfer.response, stream: .transfer(transfer, reader), cacheStatus: transfer.cacheStatus)
    }

    /// Returns the answer for a caller that waited for the exchange of another one.
    func collapsed() -> Answer {
        var answer = self
        answer.cacheStatus.isCollapsed = cacheStatus.forwarding != nil
        return answer
    }

    /// Returns the response with its whole body.
    func whole(of url: URL, upTo limit: Int) async throws -> CachedResponse {
        guard stream != nil else { return response }
        var response = response
        do {
            response.body = try await body(of: url).collect(upTo: limit)
        } catch is ResponseBody.TooLong {
            throw TransferError.tooLarge(url, limit: limit)
        }
        return response
    }

    /// Reads a streaming body to its end, because its transfer ends with its last reader. A body that isn't stored is read up to `limit`.
    func drain(upTo limit: Int) async {
        guard case .transfer(let transfer, let reader) = stream else { return }
        var unstored = 0
        while unstored <= limit, let batch = try? await reader.nextBatch() {
            if !transfer.isSpooling { unstored += batch.reduce(0) { $0 + $1.count } }
        }
    }

    func streamed(for url: URL) -> StreamedResponse {
        var fields = response.headerFields
        fields.append(cacheStatus)
        return StreamedResponse(
            status: response.status, headerFields: fields, body: body(of: url), source: response.source)
    }

    /// Returns the answer with its own reader. A shared answer's reader is released along with the answer. If it stayed at the beginning, a
    /// body that isn't stored would stop when the memory is full.
    func forOneCaller() -> Answer {
        guard case .transfer(let transfer, _) = stream, let reader = transfer.makeReader() else { return self }
        var answer = self
        answer.stream = .transfer(transfer, reader)
        return answer
    }

    private func body(of url: URL) -> ResponseBody {
        switch stream {
        case nil: ResponseBody(DataBodyReader(response.body))
        case .file(let file, let range): ResponseBody(FileBodyReader(file, range, of: url))
        case .transfer(_, let reader): ResponseBody(reader)
        }
    }
}

/// A range of a file, as the body of a response.
final class FileBodyReader: ResponseBodySource {
    private let url: URL
    private let file: RandomAccessFile
    private let rest: Lock<Range<Int64>>

    init(_ file: RandomAccessFile, _ range: Range<Int64>, of url: URL) {
        self.url = url
        self.file = file
        rest = Lock(range)
    }

    func nextBatch() async throws -> [Data]? {
        let range = rest.withLock { $0 }
        guard !range.isEmpty else { return nil }
        let data = try await file.readBody(range, of: url)
        rest.withLock { $0 = range.lowerBound + Int64(data.count)..<range.upperBound }
        return [data]
    }
}

extension RandomAccessFile {
    /// Returns some bytes from the beginning of a range of a body in the cache.
    ///
    /// - Throws: `TransferError` if another program has truncated the file, or if it can't be read. The error is transient: the cache
    ///   notices the damage on the next request, and fetches the resource again.
    func readBody(_ range: Range<Int64>, of url: URL) async throws -> Data {
        let count = min(range.upperBound - range.lowerBound, SharedBodyState.piece)
        var failure: FileError?
        do {
            let data = try await read(at: range.lowerBound, upToCount: Int(count))
            if !data.isEmpty { return data }
        } catch let error as FileError {
            failure = error
        }
        let reason = failure?.message ?? "The file was cut off."
        throw TransferError(
            .bodyTooShort, url: url, message: "The cache can't read the rest of the body: \(reason)",
            remedy: "Request it again, and check the disk if it happens again.", cause: failure)
    }
}

/// Bytes in memory, as the body of a response.
final class DataBodyReader: ResponseBodySource {
    private let data: Lock<Data?>

    init(_ data: Data) { self.data = Lock(data.isEmpty ? nil : data) }

    func nextBatch() async throws -> [Data]? { data.withLock { $0.take() }.map { [$0] } }
}
