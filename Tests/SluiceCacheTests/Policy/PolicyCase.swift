import HTTPTypes
import SluiceHTTP

@testable import SluiceCache

/// A case of the table: exchanges of a client with a cache, and of the cache with its server.
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
/// The fields after `validate` and `complete` replace those of the request, and the result must be what the server gets. Each `<-` is the
/// server's response to one request; a number before the status is the time that it takes, `cut` means that
/// the body was cut off, and `failure` that the server can't be reached. After `=>` comes what the client must get; `!Age` means that a field must be absent.
///
/// A response without a body has the number of its step as body. `@-60` in a field is the date of 60 s ago. A line `for: A ;; B` stands
/// for one case with each of these texts in place of `$`. A text may have two parts, `A :: B`, for `$` and `$$`.
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
