import Foundation
import HTTPTypes
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite(.timeLimit(.minutes(15))) struct `Compressed bodies` {
    private static let text = Array(String(repeating: "hello world\n", count: 20_000).utf8)

    private static func fetch(
        buffer: Int = 256 << 10, _ response: @escaping @Sendable (OriginRequest) -> OriginResponse
    ) async throws -> (response: TransportResponse, bytes: Int, isText: Bool) {
        try await LoopbackOrigin.serve {
            response($0)
        } during: { origin in
            let configuration = HTTPTransport.Configuration(
                connectTimeout: .seconds(600), stallTimeout: .seconds(600), bufferSize: buffer, proxy: .none)
            return try await HTTPTransport.withTransport(configuration: configuration) { transport in
                var request = TransportRequest(try URL(fetchable: origin.url("/a")))
                request.decodesContent = true
                let response = try await transport.open(request)
                var (count, isText) = (0, true)
                for try await chunk in response.body {
                    isText =
                        isText && count + chunk.count <= text.count
                        && chunk.elementsEqual(text[count..<count + chunk.count])
                    count += chunk.count
                }
                return (response, count, isText && count == text.count)
            }
        }
    }

    @Test(arguments: [1, 256 << 10]) func `arrive decoded, and the fields describe the encoded form`(buffer: Int)
        async throws
    {
        let found = try await Self.fetch(buffer: buffer) { _ in
            OriginResponse(headerFields: [.contentEncoding: "gzip"], body: gzipOfHelloWorlds)
        }
        #expect(found.isText)
        #expect(found.response.headerFields[.contentEncoding] == "gzip")
        #expect(found.response.contentLength == Int64(gzipOfHelloWorlds.count))
    }

    @Test func `are asked for`() async throws {
        let found = try await Self.fetch { request in
            let codings = request.headerFields[values: .acceptEncoding]
            return OriginResponse(body: codings.count == 1 && codings[0].contains("gzip") ? Self.text : [])
        }
        #expect(found.isText)
    }

    @Test(arguments: ["x-unknown", "gzip, x-unknown"])
    func `with an unknown coding are an error`(coding: String) async throws {
        let error = await #expect(throws: TransferError.self) {
            try await Self.fetch { _ in OriginResponse(headerFields: [.contentEncoding: coding], body: Self.text) }
        }
        #expect(error?.code == .protocolViolation)
    }

    @Test func `that aren't what they claim are an error`() async throws {
        let error = await #expect(throws: TransferError.self) {
            try await Self.fetch { _ in OriginResponse(headerFields: [.contentEncoding: "gzip"], body: Self.text) }
        }
        #expect(error?.code == .protocolViolation)
    }

    @Test func `that expand endlessly are an error`() async throws {
        let bomb = zstdOfZeros(megabytes: 1000)
        #expect(bomb.count < 50_000)
        let error = await #expect(throws: TransferError.self) {
            let found = try await Self.fetch { _ in OriginResponse(headerFields: [.contentEncoding: "zstd"], body: bomb)
            }
            #expect(found.bytes < 100_000_000)
        }
        #expect(error?.code == .protocolViolation)
        #expect(
            error?.message.contains("expands more than") == true || error?.message.contains("content encoding") == true)
    }
}
