/// A style sheet in JSON that cannot be read: where it is wrong, how, and what to write instead.
///
///     do {
///         let sheet = try StyleSheet(json: text)
///     } catch {
///         print(error)   // blocks.heading1.spacingAfter is not a length: "big". Write points as a number, or ems …
///     }
public struct StyleSheetError: Error, Sendable, Hashable {
    /// The keys that lead to the place, joined by dots, as `blocks.heading1.color`. Empty for the whole text.
    public var keyPath: String

    /// What is wrong there.
    public var problem: String

    /// What the person who wrote it can do, as one sentence.
    public var remedy: String

    /// Makes an error.
    public init(keyPath: String, problem: String, remedy: String) {
        self.keyPath = keyPath
        self.problem = problem
        self.remedy = remedy
    }

    init(at path: [any CodingKey], _ problem: String, remedy: String) {
        self.init(keyPath: path.joined, problem: problem, remedy: remedy)
    }
}

extension StyleSheetError: CustomStringConvertible {
    /// One line: where, what is wrong, what to do.
    public var description: String { "\(keyPath.isEmpty ? "the style sheet" : keyPath) \(problem). \(remedy)" }
}
