import Foundation
import HTTPTypes
import SluiceHTTP

@testable import SluiceCache

/// A cache in a dictionary that follows a ``CachePolicy``, for one case of the table.
struct PolicyScenario {
    private typealias Entry = (head: StoredResponse.Head, body: Data)
    private typealias Answer = (status: Int, fields: HTTPFields, body: Data)

    private struct Failure: Error {
        var text: String
    }

    private var policy: CachePolicy
    private var entries: [String: [Entry]] = [:]
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private var now: Int64 = 784_111_777
    private var number = 0

    /// Returns the first difference between the case and the policy, or `nil` if there is none.
    static func problem(of test: PolicyCase, rules: CacheRules = .all) -> String? {
        var scenario = PolicyScenario(policy: CachePolicy(rules: rules))
        do {
            for step in test.steps { try scenario.run(step) }
            return nil
        } catch {
            return (error as? Failure)?.text ?? "\(error)"
        }
    }

    private init(policy: CachePolicy) { self.policy = policy }

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
            // The next attempt is without conditions of the cache.
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
        let exchange = CachePolicy.Exchange(
            request: request, mode: mode, sent: sent, response: response, bodyLength: Int64(body.count),
            isComplete: isComplete, requested: requested, received: received)
        let outcome = policy.outcome(of: exchange, stored: stored)

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
            switch outcome.answer {
            case .response: (status, response.headerFields, body)
            case .stored(let index, let served): bytes(served, old[index].body)
            case .addition(let served): added.map { bytes(served, $0.body) }
            case .again, .interim: nil
            }
        entries[key] = old.indices.filter { !outcome.removals.contains($0) }.map { old[$0] }
        for key in outcome.invalidations { entries[key.text] = nil }
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
