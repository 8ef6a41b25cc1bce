extension LocalizedFormat {
    /// The Markdown with arguments in it, each as plain text, wherever its place is.
    ///
    /// 1. The text is parsed with one scalar in each place that no text has. They are letters to Markdown.
    /// 2. Where a scalar ended up says how its argument is written: escaped in text, as it is in code, percent-encoded in an
    ///    address.
    /// 3. The result is parsed. If anything but text differs from the first time (`は**%@**さ` is no emphasis if the argument
    ///    begins with punctuation), arguments get a word joiner, which has no width, on both sides. If that is not enough,
    ///    they lose their punctuation.
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

/// How far arguments go to be text.
enum Writing {
    case plain
    /// With a word joiner on both sides.
    case joined
    /// That, and nothing but letters, digits and single spaces.
    case bare

    static let joiner = "\u{2060}"

    func text(_ argument: String) -> String {
        switch self {
        case .plain: Document.escaped(argument)
        case .joined: Self.joiner + Document.escaped(argument) + Self.joiner
        case .bare: Self.joiner + bare(argument) + Self.joiner
        }
    }

    /// The argument without what could be markup.
    func bare(_ argument: String) -> String {
        argument.split { !$0.isLetter && !$0.isNumber }.joined(separator: " ")
    }
}

/// All of a document but its text: the kinds of nodes in order, and where each ends.
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
