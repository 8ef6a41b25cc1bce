import Foundation
import HTTPTypes
import Testing

@testable import SluiceHTTP

@Suite struct `A message's framing` {
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

    @Test(
        arguments: [
            (nil, nil), ("chunked", nil), (" Chunked ", nil), ("gzip, chunked", "gzip, chunked"),
            ("identity", "identity"),
            ("xchunked", "xchunked"), ("chunked, identity", "chunked, identity"),
            ("chunked, chunked", "chunked, chunked"),
        ] as [(String?, String?)])
    func `a transfer coding that was not asked for is found`(field: String?, unsupported: String?) {
        let fields: HTTPFields = field.map { [.transferEncoding: $0] } ?? [:]
        #expect(fields.unsupportedTransferCoding == unsupported)
    }

    private final class Nothing: ResponseBodySource {
        func nextBatch() async throws -> [Data]? { nil }
    }
}
