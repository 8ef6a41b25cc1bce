import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite struct `Retry rules` {
    let now = HTTPDate(secondsSince1970: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        arguments: [
            ("120", .seconds(120)), (" 0 ", .zero), ("-1", nil), ("1.5", nil), ("soon", nil), ("", nil),
            ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)), ("Sun, 06 Nov 1994 08:00:00 GMT", .zero),
            ("99999999999999999999", .seconds(Int64(Int32.max))),
            ("9223372036854775807", .seconds(Int64(Int32.max))), ("2147483648", .seconds(Int64(Int32.max))),
            ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(Int64(Int32.max))), ("Sat, 01 Jan 0000 00:00:00 GMT", .zero),
        ] as [(String, Duration?)])
    func `Retry-After is seconds or a date`(text: String, delay: Duration?) {
        #expect(RetryPolicy.retryAfter(in: [.retryAfter: text], now: now) == delay)
    }

    @Test func `delays have full jitter, and their bound doubles up to the maximum`() throws {
        let policy = RetryPolicy(maximumRetries: 8, baseDelay: .seconds(1), maximumDelay: .seconds(10))
        var random = SeededRandom(seed: 7)
        for number in 1...8 {
            let bound = Duration.seconds(min(10, 1 << (number - 1)))
            let delays = try (0..<400).map { _ in try #require(policy.delay(beforeRetry: number, using: &random)) }
            #expect(delays.allSatisfy { $0 >= .zero && $0 <= bound })
            #expect(delays.contains { $0 < bound * 0.2 } && delays.contains { $0 > bound * 0.8 })
        }
        #expect(policy.delay(beforeRetry: 9, using: &random) == nil)
    }

    @Test func `Retry-After is obeyed, and a value over the maximum ends the retries`() throws {
        let policy = RetryPolicy(maximumRetryAfter: .seconds(60))
        var random = SeededRandom(seed: 7)
        #expect(try #require(policy.delay(beforeRetry: 1, retryAfter: .seconds(60), using: &random)) >= .seconds(60))
        #expect(policy.delay(beforeRetry: 1, retryAfter: .seconds(61), using: &random) == nil)
        #expect(RetryPolicy.never.delay(beforeRetry: 1, using: &random) == nil)
    }

    @Test func `huge delays don't overflow`() throws {
        let policy = RetryPolicy(
            maximumRetries: 100, baseDelay: .seconds(Int64.max / 4), maximumDelay: .seconds(Int64.max / 2))
        var random = SeededRandom(seed: 7)
        for number in 1...100 {
            #expect(try #require(policy.delay(beforeRetry: number, using: &random)) <= .seconds(Int64.max / 2))
        }
    }

    @Test func `only transient failures are retried`() {
        let transient = (100..<600).filter { RetryPolicy.isTransient(HTTPResponse.Status(code: $0)) }
        #expect(transient == [408, 425, 429, 500, 502, 503, 504])
        let passing: [TransferError.Code] = [
            .hostNotFound, .connectionRefused, .connectionFailed, .connectTimedOut, .proxyFailed, .stalled,
            .connectionClosed, .bodyTooShort,
        ]
        let lasting: [TransferError.Code] = [
            .invalidURL, .tlsFailed, .protocolViolation, .tooManyRedirects, .redirectRefused, .shutDown, .status,
            .bodyTooLong, .unexpectedCoding, .file,
        ]
        let url = URL(string: "http://a.example/x")!
        #expect(passing.allSatisfy { TransferError($0, url: url).isTransient })
        #expect(!lasting.contains { TransferError($0, url: url).isTransient })
    }
}
