import HTTPTypes
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request, with its path below the base path and its query taken apart.
struct PageRequest: Sendable {
    let head: HTTPRequest
    let body: Data
    /// The parts of the path; empty for the page itself.
    let path: [String]
    let query: [String: String]
    /// Whether the request is for the base path without its final slash, which relative links need.
    let lacksSlash: Bool

    init(_ head: HTTPRequest, _ body: Data, in basePath: String) throws(PageProblem) {
        self.head = head
        self.body = body
        let target = head.path ?? "/"
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let full = String(parts.first ?? "/")
        guard full.hasPrefix(basePath + "/") || full == basePath else { throw PageProblem.notFound }
        let rest = full.dropFirst(basePath.count)
        lacksSlash = rest.isEmpty
        path = rest.split(separator: "/").map { Self.decoded($0) ?? String($0) }
        query = try Self.form(String(parts.dropFirst().first ?? ""))
    }

    /// Reads `a=b&c=d`, in which `+` stands for a space. The last value of a name counts.
    static func form(_ text: String) throws(PageProblem) -> [String: String] {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ side: Substring?) throws(PageProblem) -> String {
                let plain = (side ?? "").replacing("+", with: " ")
                guard let text = Self.decoded(plain) else {
                    throw PageProblem(.badRequest, "The query isn't valid. Encode its values as in a URL.")
                }
                return text
            }
            values[try decoded(sides.first)] = try decoded(sides.dropFirst().first)
        }
        return values
    }

    private static func decoded(_ text: some StringProtocol) -> String? {
        text.percentDecodedBytes.flatMap { String(validating: $0, as: UTF8.self) }
    }

    // MARK: Values

    private static let filterNames: Set = ["state", "user", "batch", "host", "name"]

    /// The filter in the query. An empty value is no condition, because forms send empty fields; for the API, an empty state is wrong.
    func filter(isForm: Bool = false) throws(PageProblem) -> DownloadFilter {
        func value(_ name: String) -> String? { query[name].flatMap { $0.isEmpty ? nil : $0 } }
        var filter = DownloadFilter(
            user: value("user"), batch: value("batch"), host: value("host"), name: value("name"))
        if let text = query["state"], !text.isEmpty || !isForm {
            guard let state = QueuedDownload.State(rawValue: text) else {
                let names = QueuedDownload.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw PageProblem(.badRequest, "There is no state '\(text)'. Use one of \(names).")
            }
            filter.state = state
        }
        return filter
    }

    func checkNames(_ other: Set<String> = []) throws(PageProblem) {
        let known = Self.filterNames.union(other)
        if let unknown = query.keys.filter({ !known.contains($0) }).min() {
            throw PageProblem(
                .badRequest,
                "There is no parameter '\(unknown)'. The parameters are \(known.sorted().joined(separator: ", ")).")
        }
    }

    func number(_ name: String, in range: ClosedRange<Int64>, default other: Int64) throws(PageProblem) -> Int64 {
        guard let text = query[name], !text.isEmpty else { return other }
        guard let number = Int64(text), range.contains(number) else {
            throw PageProblem(
                .badRequest, "'\(name)' must be a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// The place after which a list begins: two numbers, which `next` of the previous page had.
    func position() throws(PageProblem) -> ListPosition? {
        guard let text = query["after"], !text.isEmpty else { return nil }
        let parts = text.split(separator: ".").map { Int64($0) }
        guard parts.count == 2, let key = parts[0], let id = parts[1] else {
            throw PageProblem(.badRequest, "'after' must be the value 'next' of another page.")
        }
        return ListPosition(key: key, id: id)
    }

    func value<Value: Decodable>(_ type: Value.Type) throws(PageProblem) -> Value {
        let contentType = head.headerFields[.contentType]?.lowercased() ?? ""
        guard contentType.prefix(while: { $0 != ";" && $0 != " " }) == "application/json" else {
            // A form of another page can't send this type.
            throw PageProblem(.unsupportedMediaType, "Send a JSON document with the content type application/json.")
        }
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch let error as DecodingError {
            throw PageProblem(.badRequest, "The JSON document isn't valid: \(error.explanation)")
        } catch {
            throw PageProblem(.badRequest, "The body isn't a JSON document.")
        }
    }
}

extension PageProblem {
    static let notFound = PageProblem(.notFound, "There is no such page. Go to the beginning of the queue's page.")
}

extension DecodingError {
    /// What is wrong and where, without the value.
    fileprivate var explanation: String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty ? "the document" : "'\(path.map(\.stringValue).joined(separator: "."))'"
        }
        return switch self {
        case .keyNotFound(let key, _): "'\(key.stringValue)' is missing."
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(place(context.codingPath)) has the wrong type."
        case .dataCorrupted(let context):
            context.codingPath.isEmpty
                ? "it isn't JSON." : "\(place(context.codingPath)): \(context.debugDescription)"
        @unknown default: "it can't be read."
        }
    }
}
