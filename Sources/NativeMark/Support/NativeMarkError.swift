#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A style sheet or a string catalog that cannot be read: where it is wrong, how, and what to write there.
///
///     do {
///         let sheet = try StyleSheet(json: "{}")
///     } catch {
///         print(error)   // blocks.heading1.spacingAfter is not a length: "big". Write points as a number, or ems …
///     }
public struct NativeMarkError: Error, Sendable, CustomStringConvertible {
    /// What could not be read, for programs.
    ///
    /// A later version may add codes: a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as in the program.
        public let description: String
        let name: String

        /// A ``StyleSheet`` in JSON.
        public static let styleSheet = Self(description: "styleSheet", name: "the style sheet")
        /// A ``StringCatalog`` in JSON.
        public static let stringCatalog = Self(description: "stringCatalog", name: "the string catalog")
    }

    /// What could not be read, for programs.
    public var code: Code
    /// The keys that lead to the place, joined by dots, as `blocks.heading1.color`. Empty for the whole text.
    public var subject: String
    /// What is wrong there: one sentence.
    public var message: String
    /// What to write: one sentence.
    public var remedy: String?
    /// The error of the decoder.
    public var cause: (any Error)?

    /// - Parameters:
    ///   - problem: What is wrong, as the rest of a sentence that begins with the place: "is not a length".
    ///   - remedy: What to do, without a full stop.
    init(_ code: Code, at path: [any CodingKey], _ problem: String, remedy: String, cause: (any Error)? = nil) {
        self.init(code, at: path.joined, problem, remedy: remedy, cause: cause)
    }

    init(_ code: Code, at subject: String, _ problem: String, remedy: String, cause: (any Error)? = nil) {
        self.code = code
        self.subject = subject
        message = "\(subject.isEmpty ? code.name : subject) \(problem)."
        self.remedy = "\(remedy)."
        self.cause = cause
    }

    /// One line: where, what is wrong, what to do.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension NativeMarkError: LocalizedError {
    /// The same line as ``description``.
    public var errorDescription: String? { description }

    /// What is wrong.
    public var failureReason: String? { message }

    /// What to write.
    public var recoverySuggestion: String? { remedy }
}

extension NativeMarkError: Hashable {
    /// Whether both say the same. What caused them is not compared.
    public static func == (one: NativeMarkError, other: NativeMarkError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy
    }

    /// Hashes what is compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(remedy)
    }
}
