import Foundation
import NativeMark

/// A string catalog, shown in three languages.
@main
struct Localized {
    static func main() throws {
        guard let url = Bundle.module.url(forResource: "Localizable", withExtension: "xcstrings") else { throw Wrong() }
        let catalog = try StringCatalog(json: String(contentsOf: url, encoding: .utf8))
        let renderer = TerminalRenderer(
            width: 60,
            color: .detect(environment: ProcessInfo.processInfo.environment, isTerminal: isatty(STDOUT_FILENO) == 1))

        // A name comes from outside the program. It is shown unchanged, even if it looks like markup.
        let name = CommandLine.arguments.dropFirst().first ?? "*Ada* [Lovelace](https://example.com)"
        for (language, songs) in [("en", 1), ("de-AT", 12), ("ja", 3)] {
            let document = Document(
                localized: "welcome", in: catalog, languages: [language], arguments: [name, songs])
            print("--- \(language)\n\(renderer.render(document))")
            // A translation must contain the link to the rules, and the name must not become a link.
            let links = document.nodes { if case .link = $0.kind { true } else { false } }
            guard links.count == 1, document.root.plainText.contains(name) else { throw Wrong() }
        }
    }

    /// The shown document is wrong.
    struct Wrong: Error {}
}
