import Foundation
import HTTPTypes
import SluiceDownloads
import SluiceHTTP
import TestSupport

/// A server with one song. A response with the whole song stops in the middle until its reader is cancelled; one with the rest is complete.
final class HeldSongs: Transport {
    static let half = 400_000
    static let url = URL(string: "https://ann:password@songs.example/song.mp3?token=secret#part")!

    /// Each response with the whole song arrives here when its reader asks for the second half.
    let middle = Gate()

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let isRest = request.headerFields[.range] == "bytes=\(Self.half)-"
        var fields: HTTPFields = [.eTag: "\"v1\"", .contentLength: "\((isRest ? 1 : 2) * Self.half)"]
        if isRest { fields[.contentRange] = "bytes \(Self.half)-\(2 * Self.half - 1)/\(2 * Self.half)" }
        return TransportResponse(
            status: isRest ? .partialContent : .ok, headerFields: fields, url: request.url,
            body: ResponseBody(Half(middle: isRest ? nil : middle)))
    }

    private final class Half: ResponseBodySource {
        private let middle: Gate?
        private let isSent = Guarded(false)

        init(middle: Gate?) { self.middle = middle }

        func nextBatch() async throws -> [Data]? {
            let wasSent = isSent.withLock { isSent in
                defer { isSent = true }
                return isSent
            }
            guard wasSent else { return [Data(repeating: 1, count: HeldSongs.half)] }
            guard let middle else { return nil }
            await withTaskCancellationHandler {
                await middle.pass()
            } onCancel: {
                Task { await middle.open() }
            }
            try Task.checkCancellation()
            return nil
        }
    }
}
