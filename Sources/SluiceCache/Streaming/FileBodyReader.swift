import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
    /// Returns some of the first bytes of a range of a body in the cache.
    ///
    /// - Throws: `TransferError` if another program has cut the file off, or if it can't be read. The error is transient: the cache notices
    ///   the damage at the next request, and fetches the resource again.
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
