import Foundation
import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `Content-Length` {
    @Test(
        arguments: [
            ("0", 0), ("12", 12), (" 12 ", 12), ("12, 12", 12), ("12,13", nil), ("-1", nil), ("+1", nil), ("1 2", nil),
            ("", nil), ("0x10", nil), ("9223372036854775807", .max), ("9223372036854775808", nil),
        ] as [(String, Int64?)])
    func `it is a number, once or the same again`(field: String, length: Int64?) {
        let response = TransportResponse(
            status: .ok, headerFields: [.contentLength: field], url: URL(string: "http://a.example/")!,
            body: ResponseBody(Nothing()))
        #expect(response.contentLength == length)
    }

    private final class Nothing: ResponseBodySource {
        func nextBatch() async throws -> [Data]? { nil }
    }
}
