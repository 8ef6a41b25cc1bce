#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StringCatalog {
    /// Creates a catalog from the JSON that Xcode writes.
    ///
    /// ```json
    /// {
    ///   "sourceLanguage": "en",
    ///   "strings": {
    ///     "welcome": {
    ///       "localizations": {
    ///         "de": { "stringUnit": { "state": "translated", "value": "Hallo **%@**" } }
    ///       }
    ///     }
    ///   },
    ///   "version": "1.0"
    /// }
    /// ```
    ///
    /// Unknown keys are ignored, because new versions of Xcode add keys. A key without texts is its own text in the source language.
    ///
    /// - Throws: A ``NativeMarkError`` that names the position.
    public init(json: String) throws(NativeMarkError) {
        do {
            self = try JSONDecoder().decode(FileOfCatalog.self, from: Data(json.utf8)).catalog()
        } catch let error as NativeMarkError {
            throw error
        } catch let error as DecodingError {
            throw NativeMarkError(stringCatalog: error)
        } catch {
            throw NativeMarkError(
                .stringCatalog, at: "", "can't be read: \(error)", remedy: "Check that it is valid JSON")
        }
    }
}

/// The parts of the file that are read. The types aren't recursive, which limits the depth of nesting.
private struct FileOfCatalog: Decodable {
    var sourceLanguage: String
    var strings: [String: Key]

    struct Key: Decodable {
        var localizations: [String: Localization]?
    }

    struct Localization: Decodable {
        var stringUnit: Unit?
        var variations: Variations?
    }

    struct Variations: Decodable {
        var plural: [String: Variation]?
        var device: [String: DeviceVariation]?
    }

    struct DeviceVariation: Decodable {
        var stringUnit: Unit?
        var variations: PluralVariations?
    }

    struct PluralVariations: Decodable {
        var plural: [String: Variation]?
    }

    struct Variation: Decodable {
        var stringUnit: Unit?
    }

    struct Unit: Decodable {
        var state: String?
        var value: String

        /// The text, or `nil` if it isn't translated yet.
        var text: String? { state == "new" || value.isEmpty ? nil : value }
    }

    func catalog() throws(NativeMarkError) -> StringCatalog {
        var catalog = StringCatalog(sourceLanguage: sourceLanguage)
        for (key, entry) in strings {
            var languages: [String: StringCatalog.Entry] = [:]
            for (language, localization) in entry.localizations ?? [:] {
                let device = localization.variations?.device?["other"]
                let plurals = localization.variations?.plural ?? device?.variations?.plural ?? [:]
                var read = StringCatalog.Entry(value: (localization.stringUnit ?? device?.stringUnit)?.text)
                for (name, variation) in plurals {
                    guard let category = PluralCategory(rawValue: name) else {
                        throw NativeMarkError(
                            .stringCatalog, at: "strings.\(key).localizations.\(language).variations.plural.\(name)",
                            "isn't a plural category",
                            remedy: "Use one of: \(PluralCategory.allCases.map(\.rawValue).joined(separator: ", "))")
                    }
                    read.plurals[category] = variation.stringUnit?.text
                }
                languages[language] = read
            }
            catalog.entries[key] = languages
        }
        return catalog
    }
}

extension NativeMarkError {
    fileprivate init(stringCatalog error: DecodingError) {
        let found: (path: [any CodingKey], problem: String, remedy: String) =
            switch error {
            case .keyNotFound(let key, let context):
                (context.codingPath, "has no '\(key.stringValue)'", "Export the catalog from Xcode again")
            case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
                (
                    context.codingPath, type == String.self ? "isn't a string" : "isn't an object",
                    type == String.self ? "Write a string" : "Write { … } with names and values"
                )
            case .dataCorrupted(let context):
                (context.codingPath, context.whyNotJSON, "Look for a missing comma, quote or bracket")
            @unknown default: ([], "can't be read: \(error)", "Check that it is valid JSON")
            }
        self.init(.stringCatalog, at: found.path, found.problem, remedy: found.remedy, cause: error)
    }
}
