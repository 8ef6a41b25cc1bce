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
        let data = try await file.read(
            at: range.lowerBound, upToCount: Int(min(SharedBodyState.piece, Int64(range.count))))
        guard !data.isEmpty else {
            throw TransferError.length(
                announced: Int64(range.upperBound), received: range.lowerBound, url: url)
        }
        rest.withLock { $0 = range.lowerBound + Int64(data.count)..<range.upperBound }
        return [data]
    }
}

/// Bytes in memory, as the body of a response.
final class DataBodyReader: ResponseBodySource {
    private let data: Lock<Data?>

    init(_ data: Data) { self.data = Lock(data.isEmpty ? nil : data) }

    func nextBatch() async throws -> [Data]? { data.withLock { $0.take() }.map { [$0] } }
}
