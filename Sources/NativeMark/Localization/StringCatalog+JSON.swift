#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension StringCatalog {
    /// Reads a catalogue as Xcode writes it.
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
    /// Keys that are not known are left out: Xcode adds some with every version. A key without texts is its own text in the
    /// language of the source.
    ///
    /// - Throws: ``NativeMarkError``, which names the place.
    public init(json: String) throws(NativeMarkError) {
        do {
            self = try JSONDecoder().decode(FileOfCatalog.self, from: Data(json.utf8)).catalog()
        } catch let error as NativeMarkError {
            throw error
        } catch let error as DecodingError {
            throw NativeMarkError(stringCatalog: error)
        } catch {
            throw NativeMarkError(.stringCatalog, at: "", "cannot be read: \(error)", remedy: "Check that it is JSON")
        }
    }
}

/// The parts of the file that are read. Nothing in it holds itself, so that no file can nest deeper than this.
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

        /// Nil for a text that nobody has written yet.
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
                            "is no kind of number",
                            remedy: "Use one of \(PluralCategory.allCases.map(\.rawValue).joined(separator: ", "))")
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
                (context.codingPath, "has no \(key.stringValue)", "Export the catalogue from Xcode again")
            case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
                (
                    context.codingPath, type == String.self ? "is not a text" : "is not an object",
                    type == String.self ? "Write a string" : "Write { … } with names and values"
                )
            case .dataCorrupted(let context):
                (context.codingPath, context.whyNotJSON, "Look for a missing comma, quote or bracket")
            @unknown default: ([], "cannot be read: \(error)", "Check that it is JSON")
            }
        self.init(.stringCatalog, at: found.path, found.problem, remedy: found.remedy, cause: error)
    }
}
