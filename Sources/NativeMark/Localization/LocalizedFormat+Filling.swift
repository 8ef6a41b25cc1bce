extension LocalizedFormat {
    /// Returns the Markdown with the arguments inserted as plain text.
    ///
    /// 1. The template is parsed with a private-use scalar in each place for an argument. Markdown treats these scalars as letters.
    /// 2. The position of each scalar in the document determines how its argument is written: escaped in text, literally in code,
    ///    percent-encoded in an address.
    /// 3. The result is parsed. If anything except text differs from the first document (`は**%@**さ` isn't emphasis if the argument
    ///    begins with punctuation), the arguments get a word joiner, which has no width, on both sides. If that isn't enough, their
    ///    punctuation is removed.
    func filled(with arguments: [String], options: Document.Options) -> String {
        var template = Template(self, count: arguments.count)
        guard !template.places.isEmpty else { return template.markdown }
        template.findContexts(options: options)
        let shape = Shape(Document(template.markdown, options: options))
        for style in [Writing.plain, .joined] {
            let result = template.filled(with: arguments, style)
            if Shape(Document(result, options: options)) == shape { return result }
        }
        return template.filled(with: arguments, .bare)
    }
}

/// The measures that keep an argument from being parsed as markup.
enum Writing {
    case plain
    /// Escaped, with a word joiner on both sides.
    case joined
    /// Letters, digits and single spaces only, with a word joiner on both sides.
    case bare

    static let joiner = "\u{2060}"

    func text(_ argument: String) -> String {
        switch self {
        case .plain: Document.escaped(argument)
        case .joined: Self.joiner + Document.escaped(argument) + Self.joiner
        case .bare: Self.joiner + bare(argument) + Self.joiner
        }
    }

    func bare(_ argument: String) -> String {
        argument.split { !$0.isLetter && !$0.isNumber }.joined(separator: " ")
    }
}

/// The kinds of nodes in order, and where each ends.
private struct Shape: Equatable {
    private var steps: [Step] = []

    private enum Step: Equatable {
        case kind(Document.Kind)
        case leave
    }

    init(_ document: Document) {
        for event in document.events {
            switch event {
            case .leave: steps.append(.leave)
            case .enter(let node):
                switch node.kind {
                case .text: if steps.last != .kind(.text("")) { steps.append(.kind(.text(""))) }
                case .code: steps.append(.kind(.code("")))
                case .codeBlock(_, let isFenced): steps.append(.kind(.codeBlock(info: "", isFenced: isFenced)))
                case .link: steps.append(.kind(.link(destination: "", title: nil)))
                case .image: steps.append(.kind(.image(source: "", title: nil)))
                case let kind: steps.append(.kind(kind))
                }
            }
        }
    }
}
