/// A string catalogue that cannot be read: where it is wrong, how, and what to do.
///
///     do {
///         let catalog = try StringCatalog(json: text)
///     } catch {
///         print(error)   // strings.welcome.localizations.de.stringUnit.value is not a text. Write a string.
///     }
public struct StringCatalogError: Error, Sendable, Hashable {
    /// The keys that lead to the place, joined by dots. Empty for the whole catalogue.
    public var keyPath: String

    /// What is wrong there.
    public var problem: String

    /// What the person who keeps the catalogue can do, as one sentence.
    public var remedy: String

    /// Makes an error.
    public init(keyPath: String, problem: String, remedy: String) {
        self.keyPath = keyPath
        self.problem = problem
        self.remedy = remedy
    }
}

extension StringCatalogError: CustomStringConvertible {
    /// One line: where, what is wrong, what to do.
    public var description: String { "\(keyPath.isEmpty ? "the string catalogue" : keyPath) \(problem). \(remedy)." }
}
