/// The plural categories of a language's grammar (CLDR 47, Language Plural Rules).
///
///     PluralCategory(of: 2, language: "pl")   // .few
///
/// Supports whole numbers in the languages below. In other languages, every number is ``other``.
///
/// | numbers as in | languages |
/// |---|---|
/// | English: 1 | en de nl sv da nb nn no fi et el hu bg tr |
/// | Italian: 1, millions | it es ca pt-PT |
/// | French: 0 and 1, millions | fr pt |
/// | Hindi: 0 and 1 | hi fa |
/// | Russian: 1, 2 to 4, the rest | ru uk |
/// | Polish | pl |
/// | Czech | cs sk |
/// | Hebrew: 1, 2 | he |
/// | Arabic: 0, 1, 2, 3 to 10, 11 to 99 | ar |
/// | Japanese: none | ja zh ko th vi id ms |
public enum PluralCategory: String, Sendable, Hashable, CaseIterable {
    /// Zero. In every language, a text for this category is used for 0.
    case zero
    /// One, and numbers with the same grammar.
    case one
    /// Two.
    case two
    /// A few.
    case few
    /// Many.
    case many
    /// All other numbers. Every language has this category.
    case other

    /// Creates the category of a whole number in a language. The sign of a negative number is ignored.
    public init(of count: Int, language: String) {
        let number = count.magnitude
        let parts = language.lowercased().split { $0 == "-" || $0 == "_" }
        let isMillions = number != 0 && number % 1_000_000 == 0
        let (tens, ones) = (number % 100, number % 10)
        switch parts.first ?? "" {
        case "pt" where parts.dropFirst().contains("pt"), "it", "es", "ca":
            self = number == 1 ? .one : isMillions ? .many : .other
        case "fr", "pt": self = number < 2 ? .one : isMillions ? .many : .other
        case "hi", "fa": self = number < 2 ? .one : .other
        case "en", "de", "nl", "sv", "da", "nb", "nn", "no", "fi", "et", "el", "hu", "bg", "tr":
            self = number == 1 ? .one : .other
        case "ru", "uk":
            if ones == 1, tens != 11 {
                self = .one
            } else if (2...4).contains(ones), !(12...14).contains(tens) {
                self = .few
            } else {
                self = .many
            }
        case "pl":
            if number == 1 {
                self = .one
            } else if (2...4).contains(ones), !(12...14).contains(tens) {
                self = .few
            } else {
                self = .many
            }
        case "cs", "sk": self = number == 1 ? .one : (2...4).contains(number) ? .few : .other
        case "he", "iw": self = number == 1 ? .one : number == 2 ? .two : .other
        case "ar":
            switch (number, tens) {
            case (0, _): self = .zero
            case (1, _): self = .one
            case (2, _): self = .two
            case (_, 3...10): self = .few
            case (_, 11...99): self = .many
            default: self = .other
            }
        default: self = .other
        }
    }
}
