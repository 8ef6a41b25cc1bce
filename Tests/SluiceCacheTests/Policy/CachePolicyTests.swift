import Foundation
import HTTPTypes
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceCache

@Suite struct `The policy of a private cache` {
    private static let cases = [
        storingCases, freshnessCases, reuseCases, variantCases, validationCases, invalidationCases, rangeCases,
    ].flatMap { PolicyCase.all(in: $0) }

    @Test(arguments: cases)
    func `follows the RFCs`(test: PolicyCase) {
        let problem = PolicyScenario.problem(of: test)
        #expect(problem == nil, "\(test): \(problem ?? "")")
    }

    /// Scripts/checks/caching-proxy.py runs the same cases through a proxy.
    private static let export = ProcessInfo.processInfo.environment["SLUICE_POLICY_CASES"].map { URL(filePath: $0) }

    @Test(.enabled(if: export != nil)) func `has cases that other programs can read`() throws {
        let file = try #require(Self.export)
        try JSONEncoder().encode(Self.cases).write(to: file)
        let read = try JSONDecoder().decode([PolicyCase].self, from: Data(contentsOf: file))
        #expect(read.map(\.description) == Self.cases.map(\.description))
        for test in read {
            let problem = PolicyScenario.problem(of: test)
            #expect(problem == nil, "\(test): \(problem ?? "")")
        }
    }

    @Test func `is tested section by section`() {
        #expect(Self.cases.count >= 200)
        #expect(Set(Self.cases.map(\.description)).count == Self.cases.count, "two cases have the same claim")
        let sections = Set(Self.cases.map(\.section))
        for section in [
            "3", "3.1", "3.2", "3.3", "3.4", "4", "4.1", "4.2.1", "4.2.2", "4.2.3", "4.2.4", "4.3.1",
            "4.3.2", "4.3.3", "4.3.4", "4.3.5", "4.4", "5.1", "5.3", "5.4",
        ] {
            #expect(sections.contains(section), "no case is about section \(section)")
        }
    }
}

// MARK: - The cases

/// A case of the table: exchanges between a client and a cache, and between the cache and its server.
///
/// ```text
/// # 5.2.2.1 A response is fresh for its max-age                      the section of RFC 9111, or "9110 14.2", and a claim
/// GET -> fetch <- 200 {Cache-Control: max-age=60}
/// +59 GET -> serve => 200 "1" {Age: 59}
/// +1 GET -> fetch
/// ```
///
/// A step is one request:
///
///     [+seconds] METHOD [/path or URL] [(mode)] [{fields}]
///         -> fetch | validate {fields} | complete {fields} | serve | revalidate | fail
///         [<- [seconds | cut] STATUS ["body"] [{fields}]]…
///         [=> STATUS ["body"] [{fields}]]
///
/// The fields after `validate` and `complete` replace those of the request; the server must get the result. Each `<-` is the server's
/// response to one request. A number before the status is the seconds that it takes, `cut` means that the body is truncated, and `failure`
/// means that the server can't be reached. After `=>` comes what the client must get; `!Age` means that the field must be absent.
///
/// A response without a body gets the number of its step as its body. `@-60` in a field is the date 60 s ago. A line `for: A ;; B` makes
/// one case for each text, which replaces `$`. A text may have two parts, `A :: B`, for `$` and `$$`.
struct PolicyCase: Sendable, Codable, CustomStringConvertible {
    struct Field: Sendable, Codable {
        var name: String
        /// `nil` if the field must be absent.
        var value: String?
    }

    struct Message: Sendable, Codable {
        var words: [String]
        var body: String?
        var fields: [Field] = []
    }

    struct Step: Sendable, Codable {
        var line: String
        var request: Message
        var decision: Message
        var responses: [Message]
        var answer: Message?
    }

    var section: String
    var claim: String
    var steps: [Step]

    var description: String { "\(section) \(claim)" }

    static func all(in text: String) -> [PolicyCase] {
        text.split(separator: "\n# ").flatMap { block in
            var lines = block.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("//") && $0 != "# " }
            guard !lines.isEmpty else { return [PolicyCase]() }
            var title = lines.removeFirst()
            if title.hasPrefix("# ") { title.removeFirst(2) }
            var texts = [""]
            if let first = lines.first, first.hasPrefix("for: ") {
                lines.removeFirst()
                texts = first.dropFirst(5).split(separator: " ;; ").map(String.init)
            }
            return texts.map { text in
                let parts = text.split(separator: " :: ", maxSplits: 1)
                func filled(_ line: String) -> String {
                    line.replacing("$$", with: parts.last ?? "").replacing("$", with: parts.first ?? "")
                }
                var words = filled(title).split(separator: " ").map(String.init)
                var section = words.removeFirst()
                if section.count == 4, section.allSatisfy(\.isNumber) { section += " " + words.removeFirst() }
                return PolicyCase(
                    section: section, claim: words.joined(separator: " "), steps: lines.map { step(filled($0)) })
            }
        }
    }

    private static func step(_ line: String) -> Step {
        let answer = line.split(separator: " => ", maxSplits: 1)
        let decision = answer[0].split(separator: " -> ", maxSplits: 1)
        precondition(decision.count == 2, "A step has no decision: \(line)")
        let responses = decision[1].split(separator: " <- ")
        return Step(
            line: line, request: message(decision[0]), decision: message(responses[0]),
            responses: responses.dropFirst().map(message), answer: answer.count == 2 ? message(answer[1]) : nil)
    }

    private static func message(_ text: Substring) -> Message {
        var message = Message(words: [])
        var head = text
        if let start = text.firstIndex(of: "{"), let end = text.lastIndex(of: "}") {
            head = text[..<start]
            message.fields = text[text.index(after: start)..<end].split(separator: " | ").map { field in
                let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let name = parts[0].trimmingSpaces()
                guard parts.count == 2 else { return Field(name: String(name.dropFirst())) }
                return Field(name: name, value: parts[1].trimmingSpaces())
            }
        }
        if let start = head.firstIndex(of: "\""), let end = head.lastIndex(of: "\""), start < end {
            message.body = String(head[head.index(after: start)..<end])
            head = head[..<start]
        }
        message.words = head.split(separator: " ").map(String.init)
        return message
    }
}

extension PolicyCase.Message {
    /// The fields, with dates relative to `now`.
    func headerFields(at now: Int64) -> HTTPFields {
        var result: HTTPFields = [:]
        for field in fields {
            guard let name = HTTPField.Name(field.name), let value = field.value else { continue }
            result.append(HTTPField(name: name, value: Self.dated(value, now)))
        }
        return result
    }

    static func dated(_ value: String, _ now: Int64) -> String {
        value.replacing(#/@(-?\d+)/#) { match in
            HTTPDate(secondsSince1970: now + (Int64(match.1) ?? 0)).description
        }
    }
}

// MARK: - A cache for a case

/// A cache in a dictionary that follows a ``CachePolicy``, for one case of the table.
struct PolicyScenario {
    private typealias Entry = (head: StoredResponse.Head, body: Data)
    private typealias Answer = (status: Int, fields: HTTPFields, body: Data)

    private struct Failure: Error {
        var text: String
    }

    private let policy = CachePolicy()
    private var entries: [String: [Entry]] = [:]
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private var now: Int64 = 784_111_777
    private var number = 0

    /// Returns the first difference between the case and the policy, or `nil` if there is none.
    static func problem(of test: PolicyCase) -> String? {
        var scenario = PolicyScenario()
        do {
            for step in test.steps { try scenario.run(step) }
            return nil
        } catch {
            return (error as? Failure)?.text ?? "\(error)"
        }
    }

    private mutating func run(_ step: PolicyCase.Step) throws {
        number += 1
        func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws {
            if !condition { throw Failure(text: "step \(number), \(step.line): \(text())") }
        }
        var words = step.request.words[...]
        if let first = words.first, first.hasPrefix("+") || first.hasPrefix("-"), let seconds = Int64(first) {
            now += seconds
            words.removeFirst()
        }
        let method = HTTPRequest.Method(words.removeFirst())!
        var mode = CachePolicy.LookupMode.useCache
        var path = "/"
        for word in words {
            switch word {
            case "(useCache)": mode = .useCache
            case "(reload)": mode = .reload
            case "(cacheOnly)": mode = .cacheOnly
            case "(staleIfOffline)": mode = .staleIfOffline
            default: path = word
            }
        }
        let base = URL(string: "http://example.test/")!
        let url = URL(string: path, relativeTo: base)!.absoluteURL
        let request = TransportRequest(url, method: method, headerFields: step.request.headerFields(at: now))
        let key = ResourceKey(url).text

        let decision = policy.decision(
            for: request, mode: mode, stored: heads(key), at: HTTPDate(secondsSince1970: now))
        try expect(decision.name == step.decision.words.first, "the decision is \(decision)")
        let stored = heads(key)
        if method == .get, request.headerFields.isEmpty, mode == .useCache, stored.count == 1, stored[0].part == nil,
            stored[0].variant.matches([:], policy: policy)
        {
            let isFresh = policy.isFresh(stored[0], at: HTTPDate(secondsSince1970: now))
            try expect(isFresh == (decision.name == "serve"), "isFresh differs from the decision")
        }
        var sent = request.headerFields
        var answer: Answer?
        var isSending = true
        switch decision {
        case .serve(let index, let served):
            answer = bytes(served, entries[key]![index].body)
            isSending = false
        case .serveAndRevalidate(let index, let served, let fields):
            answer = bytes(served, entries[key]![index].body)
            sent = fields
            isSending = !step.responses.isEmpty
        case .fetch: break
        case .validate(let fields), .complete(let fields): sent = fields
        case .fail:
            answer = (504, [:], Data())
            isSending = false
        }
        if isSending {
            var expected = request.headerFields
            let added = step.decision.headerFields(at: now)
            for name in Set(added.map(\.name)) { expected[fields: name] = added[fields: name] }
            if decision.name != "revalidate" {
                try expect(text(expected) == text(sent), "the request has the fields \(text(sent))")
            }
        }
        var responses = step.responses[...]
        while isSending, let message = responses.popFirst() {
            let received = try receive(message, step, request, sent, mode, key)
            isSending = received == nil
            answer = answer ?? received
            // The next attempt is sent without the cache's conditions.
            if received == nil, message.words.last?.hasPrefix("1") == false { sent = request.headerFields }
        }
        try expect(responses.isEmpty, "the cache doesn't send the request again")
        guard let expected = step.answer else { return }
        guard let answer else { return try expect(false, "there is no answer") }
        try expect("\(answer.status)" == expected.words[0], "the status is \(answer.status)")
        if let body = expected.body {
            try expect(
                answer.body == Data(body.utf8), "the body is \"\(String(decoding: answer.body, as: UTF8.self))\"")
        }
        for field in expected.fields {
            let actual = answer.fields[HTTPField.Name(field.name)!]
            try expect(
                actual == field.value.map { PolicyCase.Message.dated($0, now) },
                "\(field.name) is \(actual ?? "absent")")
        }
    }

    /// Applies the response, and returns the answer for the client, or `nil` if the request must be sent again.
    private mutating func receive(
        _ message: PolicyCase.Message, _ step: PolicyCase.Step, _ request: TransportRequest, _ sent: HTTPFields,
        _ mode: CachePolicy.LookupMode, _ key: String
    ) throws -> Answer? {
        let requested = HTTPDate(secondsSince1970: now)
        var words = message.words[...]
        var isComplete = true
        if words.count == 2 {
            let first = words.removeFirst()
            isComplete = first != "cut"
            now += Int64(first) ?? 0
        }
        let received = HTTPDate(secondsSince1970: now)
        let stored = heads(key)
        guard let status = words.first.flatMap({ Int($0) }) else {
            let stale = policy.staleResponse(for: request, mode: mode, stored: stored, at: received, isOffline: true)
            return stale.map { bytes($0.1, entries[key]![$0.0].body) } ?? (0, [:], Data())
        }
        let isEmpty = request.method == .head || status == 304 || status < 200
        let body = Data((message.body ?? (isEmpty ? "" : "\(number)")).utf8)
        let response = HTTPResponse(
            status: .init(code: status), headerFields: message.headerFields(at: now))
        let record = CachePolicy.ExchangeRecord(
            request: request, mode: mode, sent: sent, response: response, bodyLength: Int64(body.count),
            isComplete: isComplete, requested: requested, received: received)
        let outcome = policy.outcome(of: record, stored: stored)

        var old = entries[key] ?? []
        for (index, head) in outcome.updates { old[index].head = head }
        let added = outcome.addition.map { addition in
            Entry(
                head: addition.head,
                body: addition.body.reduce(into: Data()) { data, piece in
                    switch piece {
                    case .response: data += body
                    case .stored(let index, let range):
                        data += old[index].body[Int(range.lowerBound)..<Int(range.upperBound)]
                    }
                })
        }
        let answer: Answer? =
            switch outcome.delivery {
            case .response: (status, response.headerFields, body)
            case .stored(let index, let served): bytes(served, old[index].body)
            case .addition(let served): added.map { bytes(served, $0.body) }
            case .again, .interim: nil
            }
        entries[key] = old.indices.filter { !outcome.removals.contains($0) }.map { old[$0] }
        var groups = outcome.groupInvalidations
        for key in outcome.invalidations {
            for entry in entries[key.text] ?? [] { groups.formUnion(entry.head.fields.cacheGroups) }
            entries[key.text] = nil
        }
        for (key, members) in entries where URL(string: key)?.origin == request.url.origin {
            if members.contains(where: { !$0.head.fields.cacheGroups.isDisjoint(with: groups) }) { entries[key] = nil }
        }
        if let added {
            guard added.body.count == Int(added.head.length) else {
                throw Failure(text: "step \(number): the stored body has \(added.body.count) bytes")
            }
            entries[key, default: []].append(added)
        }
        return answer
    }

    private func heads(_ key: String) -> [StoredResponse.Head] { (entries[key] ?? []).map(\.head) }

    private func bytes(_ served: CachePolicy.Served, _ body: Data) -> Answer {
        (served.status, served.fields, Data(body[Int(served.bytes.lowerBound)..<Int(served.bytes.upperBound)]))
    }

    private func text(_ fields: HTTPFields) -> [String] {
        Set(fields.map(\.name)).map { "\($0.canonicalName): \(fields[$0] ?? "")" }.sorted()
    }
}

extension CachePolicy.Decision {
    /// The decision's name in the table.
    var name: String {
        switch self {
        case .serve: "serve"
        case .serveAndRevalidate: "revalidate"
        case .fetch: "fetch"
        case .validate: "validate"
        case .complete: "complete"
        case .fail: "fail"
        }
    }
}

// MARK: - Many fields

@Suite struct `Heads with many fields` {
    private static func fields(_ round: Int, count: Int) -> HTTPFields {
        HTTPFields((0..<count).map { HTTPField(name: .init("X-\(round)-\($0)")!, value: "") })
    }

    @Test func `a server whose 304s keep adding field names can't crash the process`() {
        var stored: HTTPFields = [.contentType: "text/plain", .eTag: "\"a\"", .cacheControl: "max-age=1"]
        for round in 0..<20 { stored = stored.updated(by: Self.fields(round, count: HTTPTransport.maximumFields)) }

        #expect(stored.count <= 2 * HTTPTransport.maximumFields)
        #expect([stored[.contentType], stored[.eTag], stored[.cacheControl]] == ["text/plain", "\"a\"", "max-age=1"])
        #expect(stored[.init("X-19-7")!] == "")
        #expect(HTTPFields(lines: stored.lines) == stored)
    }

    @Test func `a damaged index with too many fields isn't read`() {
        #expect(HTTPFields(lines: String(repeating: "X-A:1\n", count: 70_000)) == nil)
    }
}

// MARK: - Random fields

/// Random requests and responses, most of them nonsense.
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

    @Test mutating func `never traps, serves only bytes it has, and stores only what it may`() throws {
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
                // Otherwise, two parts of the same representation would be too rare.
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
            let record = CachePolicy.ExchangeRecord(
                request: request, mode: mode, sent: sent, response: response, bodyLength: length,
                isComplete: one([true, true, false]), requested: time,
                received: HTTPDate(secondsSince1970: now + one([0, 5])))
            let outcome = policy.outcome(of: record, stored: stored)
            var heads = stored
            for (index, head) in outcome.updates { heads[index] = head }
            if case .stored(let index, let answer) = outcome.delivery { check(index, answer, heads) }
            var kept = heads.indices.filter { !outcome.removals.contains($0) }.map { heads[$0] }
            if !outcome.invalidations.isEmpty { kept = [] }
            if let addition = outcome.addition {
                let control = addition.head.control
                #expect(!control.noStore || control.mustUnderstand)
                #expect(!CacheControl(request.headerFields).noStore)
                var total: Int64 = 0
                for piece in addition.body {
                    switch piece {
                    case .response: total += record.bodyLength
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
