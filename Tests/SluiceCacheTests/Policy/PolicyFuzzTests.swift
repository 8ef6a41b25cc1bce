import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// Random requests and responses, most of them without sense.
@Suite struct `The policy of a private cache, under random fields` {
    private static let numbers = [
        "0", "1", "2", "9", "60", "-1", "x", "", "2147483648", "9223372036854775806", "9223372036854775807",
        "99999999999999999999",
    ]
    private static let dates = [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
        "Sat, 01 Jan 0000 00:00:00 GMT", "0", "Sunday, 06-Nov-94 08:49:37 GMT",
    ]
    private static let tags = ["\"a\"", "\"a\"", "\"a\"", "W/\"a\"", "\"b\"", "*", "\"", "\"a\", \"b\""]
    private static let directives = [
        "no-store", "no-cache", "no-cache=\"X-A\"", "public", "private", "must-revalidate", "must-understand",
        "immutable",
        "only-if-cached", "max-stale", "max-age=", "max-age=60", "max-age=600", "max-age=600", "max-stale=",
        "min-fresh=", "stale-while-revalidate=",
        "stale-if-error=",
    ]

    private var random: SeededRandom

    init() { random = SeededRandom(seed: 9111) }

    private mutating func one<T>(_ values: [T]) -> T { values.randomElement(using: &random)! }

    private mutating func control() -> String {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in
            let name = one(Self.directives)
            return name.hasSuffix("=") ? name + one(Self.numbers) : name
        }.joined(separator: ", ")
    }

    private mutating func fields(_ choices: [HTTPField.Name]) -> HTTPFields {
        var fields: HTTPFields = [:]
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let name = one(choices)
            switch name {
            case .cacheControl: fields[name] = control()
            case .age, .contentLength: fields[name] = one(Self.numbers)
            case .eTag, .ifNoneMatch, .ifMatch: fields[name] = one(Self.tags)
            case .ifRange: fields[name] = one(Self.tags + Self.dates)
            case .range: fields[name] = "bytes=\(one(Self.numbers))-\(one(Self.numbers))"
            case .contentRange where Bool.random(using: &random):
                let first = Int.random(in: 0..<10, using: &random)
                fields[name] = "bytes \(first)-\(first + one([0, 1, 9]))/20"
            case .contentRange:
                fields[name] = "bytes \(one(Self.numbers))-\(one(Self.numbers))/\(one(Self.numbers + ["*"]))"
            case .vary: fields[name] = one(["X-A", "Accept-Language", "*", "", "X-A, Accept-Language"])
            case .acceptLanguage, .pragma, .connection:
                fields[name] = one(["en", "de;q=0.5, en", "no-cache", "Vary", ""])
            case .location, .contentLocation: fields[name] = one(["/", "/b", "http://other.test/", "://", ""])
            default: fields[name] = one(Self.dates)
            }
        }
        return fields
    }

    @Test mutating func `decides without a trap, serves bytes that it has, and stores what it may`() throws {
        let policy = CachePolicy()
        var stored: [StoredResponse.Head] = []
        var now: Int64 = 784_111_777
        var served = 0
        var combined = 0
        for _ in 0..<30_000 {
            now += one([0, 0, 0, 1, 60])
            var request = TransportRequest(
                URL(string: "http://example.test/")!, method: one([.get, .get, .get, .head, .post]))
            request.headerFields = fields([
                .cacheControl, .range, .ifRange, .ifNoneMatch, .ifModifiedSince, .ifMatch, .acceptLanguage, .pragma,
            ])
            let mode: CachePolicy.LookupMode = one([.useCache, .useCache, .reload, .cacheOnly, .staleIfOffline])
            let time = HTTPDate(secondsSince1970: now)
            var sent = request.headerFields
            func check(_ index: Int, _ answer: CachePolicy.Served, _ heads: [StoredResponse.Head]) {
                served += 1
                #expect((0...heads[index].length).contains(answer.bytes.lowerBound))
                #expect(answer.bytes.upperBound <= heads[index].length)
                #expect(request.method != .head || answer.bytes.isEmpty)
            }
            switch policy.decision(for: request, mode: mode, stored: stored, at: time) {
            case .serve(let index, let answer):
                check(index, answer, stored)
                continue
            case .serveAndRevalidate(let index, let answer, let fields):
                check(index, answer, stored)
                sent = fields
            case .validate(let fields), .complete(let fields): sent = fields
            case .fetch: break
            case .fail: continue
            }
            var response = HTTPResponse(
                status: .init(code: one([200, 200, 200, 206, 206, 304, 304, 404, 416, 503, 103])),
                headerFields: fields([
                    .cacheControl, .cacheControl, .eTag, .eTag, .lastModified, .date, .expires, .age, .contentRange,
                    .contentRange, .contentLength, .vary, .location, .contentLocation, .connection,
                ]))
            if response.status != .partialContent, one([true, true, true, false]) {
                response.headerFields[.contentRange] = nil
            }
            if response.status == .partialContent, Bool.random(using: &random) {
                // Otherwise, two parts of the same representation are too rare.
                let first = Int.random(in: 0..<10, using: &random)
                response.headerFields = [
                    .eTag: "\"a\"", .cacheControl: "max-age=600", .contentRange: "bytes \(first)-\(first + 9)/20",
                ]
            }
            // Most of the time, the body has the announced length.
            var length: Int64 = one([0, 1, 2, 10, 60])
            if case .part(let first, let last, _) = response.headerFields[.contentRange].flatMap({ ContentRange($0) }),
                one([true, true, false])
            {
                length = last - first + 1
            }
            let exchange = CachePolicy.Exchange(
                request: request, mode: mode, sent: sent, response: response, bodyLength: length,
                isComplete: one([true, true, false]), requested: time,
                received: HTTPDate(secondsSince1970: now + one([0, 5])))
            let outcome = policy.outcome(of: exchange, stored: stored)
            var heads = stored
            for (index, head) in outcome.updates { heads[index] = head }
            if case .stored(let index, let answer) = outcome.answer { check(index, answer, heads) }
            var kept = heads.indices.filter { !outcome.removals.contains($0) }.map { heads[$0] }
            if !outcome.invalidations.isEmpty { kept = [] }
            if let addition = outcome.addition {
                let control = addition.head.control
                #expect(!control.noStore || control.mustUnderstand)
                #expect(!CacheControl(request.headerFields).noStore)
                var total: Int64 = 0
                for piece in addition.body {
                    switch piece {
                    case .response: total += exchange.bodyLength
                    case .stored(let index, let range):
                        combined += 1
                        #expect(range.lowerBound >= 0 && range.upperBound <= stored[index].length)
                        total += range.upperBound - range.lowerBound
                    }
                }
                #expect(total == addition.head.length)
                #expect(addition.head.part.map { $0.upperBound - $0.lowerBound == total } ?? true)
                kept.append(addition.head)
            }
            #expect(kept.count <= CachePolicy.maximumVariants)
            stored = kept
        }
        #expect(served > 1000 && combined > 10, "\(served) answers, \(combined) combinations")
    }
}
