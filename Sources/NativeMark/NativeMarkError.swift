#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An error in the JSON of a style sheet or string catalog: where it is, what is wrong, and what to write instead.
///
///     do {
///         let sheet = try StyleSheet(json: "{}")
///     } catch {
///         print(error)   // blocks.heading1.spacingAfter isn't a length: 'big'. Write points as a number, or ems …
///     }
public struct NativeMarkError: Error, Sendable, CustomStringConvertible {
    /// The kind of file that couldn't be read.
    ///
    /// Later versions may add codes, so a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the static member.
        public let description: String
        let name: String

        /// The JSON of a ``StyleSheet``.
        public static let styleSheet = Self(description: "styleSheet", name: "The style sheet")
        /// The JSON of a ``StringCatalog``.
        public static let stringCatalog = Self(description: "stringCatalog", name: "The string catalog")
    }

    /// The kind of file that couldn't be read.
    public var code: Code
    /// The path of keys to the value, joined by dots, such as `blocks.heading1.color`. Empty if the problem is the text as a whole.
    public var subject: String
    /// What is wrong, in one sentence.
    public var message: String
    /// What to write instead, in one sentence.
    public var remedy: String?
    /// The JSON decoder's error, if there was one.
    public var cause: (any Error)?

    /// `problem` continues a sentence that begins with the subject ("isn't a string"). Neither `problem` nor `remedy` ends with a period.
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

    /// The message and the remedy on one line.
    public var description: String { "\(message)\(remedy.map { " \($0)" } ?? "")" }
}

extension NativeMarkError: LocalizedError {
    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The same text as ``message``.
    public var failureReason: String? { message }

    /// The same text as ``remedy``.
    public var recoverySuggestion: String? { remedy }
}

extension NativeMarkError: Hashable {
    /// Compares everything except ``cause``.
    public static func == (one: NativeMarkError, other: NativeMarkError) -> Bool {
        one.code == other.code && one.subject == other.subject && one.message == other.message
            && one.remedy == other.remedy
    }

    /// Hashes the properties that `==` compares, except ``subject``.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(remedy)
    }
}

// MARK: - JSON

// Shared by style sheets and string catalogs: the decoder, the path to a value, and the decoder's message.

extension NativeMarkError {
    /// Decodes JSON. `explain` converts the decoder's errors.
    static func decoding<Value: Decodable>(
        _ type: Value.Type, from json: String, _ code: Code, explain: (DecodingError) -> NativeMarkError
    ) throws(NativeMarkError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(json.utf8))
        } catch let error as NativeMarkError {
            throw error
        } catch let error as DecodingError {
            throw explain(error)
        } catch {
            throw NativeMarkError(code, at: "", "can't be read: \(error)", remedy: "Check that it is valid JSON")
        }
    }
}

extension [any CodingKey] {
    /// The keys joined by dots, with array indices in brackets: `colors.accent[0]`.
    var joined: String {
        map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
            .reduce("") { $1.hasPrefix("[") || $0.isEmpty ? $0 + $1 : $0 + "." + $1 }
    }
}

extension DecodingError.Context {
    /// Says why a text isn't JSON. Continues a sentence that begins with the subject, and has no period.
    var whyNotJSON: String {
        let detail = underlyingError.map { "\($0)" } ?? debugDescription
        return "isn't valid JSON: \(detail.hasSuffix(".") ? String(detail.dropLast()) : detail)"
    }
}
