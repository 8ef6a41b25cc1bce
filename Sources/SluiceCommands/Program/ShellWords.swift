/// A program and its arguments in one text, such as that of `--on-complete`. No shell runs it.
///
/// The words are separated by blanks. Quotes and backslashes work as in a shell; nothing else has a meaning.
struct ShellWords: Sendable, Equatable {
    /// The error for a text that isn't a program and its arguments.
    struct Invalid: Error {
        var message: String
    }

    var words: [String]

    /// Throws a message about a text that isn't a command line.
    init(_ text: String) throws(Invalid) {
        words = []
        var word: String?
        var quote: Unicode.Scalar?
        // By scalars, because a quote with a combining mark is another character, but still a quote to a shell.
        var characters = text.unicodeScalars[...]
        guard !text.utf8.contains(0) else { throw .init(message: "The command has a zero byte. Remove it.") }
        while let next = characters.popFirst() {
            switch (next, quote) {
            case ("\\", nil), ("\\", "\""):
                guard let escaped = characters.popFirst() else {
                    throw .init(message: "The command ends with a backslash. Write two for a backslash.")
                }
                // Within double quotes, a backslash means itself before other characters.
                let isKept = quote == "\"" && escaped != "\"" && escaped != "\\"
                word = (word ?? "") + (isKept ? "\\" : "") + String(escaped)
            case ("'", nil), ("\"", nil): (word, quote) = (word ?? "", next)
            case (_, let open?) where next == open: quote = nil
            case (" ", nil), ("\t", nil), ("\n", nil):
                if let complete = word { words.append(complete) }
                word = nil
            default: word = (word ?? "") + String(next)
            }
        }
        guard quote == nil else { throw .init(message: "The command has a quote without an end. Add the other quote.") }
        if let word { words.append(word) }
        guard words.first?.isEmpty == false else { throw .init(message: "The command is empty. Name a program.") }
    }
}
