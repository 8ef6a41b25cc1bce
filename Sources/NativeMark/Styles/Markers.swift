extension StyleSheet {
    /// The marker of the items of a list.
    ///
    ///     sheet.setting(block: [
    ///         .list(.ordered): [.marker(.numbers([.decimal, .lowercaseLetters, .lowercaseRoman]))],   // 1., then a., then i.
    ///         .list(.bullets): [.marker(.bullets(["–"]))],
    ///     ])
    ///
    /// The first value applies to lists that aren't inside another list of their kind, the next value to lists one level deeper, and so on.
    /// After the last value, the first one is used again.
    public enum Marker: Sendable, Hashable {
        /// No marker.
        case none
        /// Numbers between a prefix and a suffix. Without a suffix, the period or parenthesis that the document uses follows. An empty
        /// array means decimal numbers. At most 64 Unicode scalars of prefix and suffix are shown. Bullet lists show `•` instead.
        case numbers([Numbering], prefix: String = "", suffix: String? = nil)
        /// Bullets. An empty array means no bullets. Ordered lists keep their decimal numbers.
        case bullets([Bullet])
    }

    /// The bullet of an item: a text, or a shape that is drawn.
    ///
    ///     sheet.setting(block: [.list(.bullets): [.marker(.bullets([.disc, .circle, "–"]))]])
    ///
    /// Terminals show a character of the same shape. There are no images, because showing a document with an untrusted sheet must not load
    /// anything.
    public enum Bullet: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A text of at most 64 Unicode scalars.
        case text(String)
        /// A filled circle.
        case disc
        /// The outline of a circle.
        case circle
        /// A filled square.
        case square

        /// Creates a bullet from a text.
        public init(stringLiteral text: String) { self = .text(text) }
    }

    /// The marker of a task item.
    ///
    ///     sheet.setting(block: [.lists: [.taskMarker(.checkbox(open: .secondary, done: .accent))]])
    ///     sheet.setting(block: [.lists: [.taskMarker(.texts(open: "[ ]", done: "[x]"))]])
    ///
    /// In an ordered list, it follows the number.
    public enum TaskMarker: Sendable, Hashable {
        /// A checkbox in the color of the text, or in a color for each state. Terminals show the characters `☐` and `☑`.
        case checkbox(open: Color? = nil, done: Color? = nil)
        /// A text for each state. At most 64 Unicode scalars of each are shown.
        case texts(open: String, done: String)
    }

    /// The format of a number.
    public enum Numbering: String, Sendable, Hashable, CaseIterable {
        /// 1, 2, 3
        case decimal
        /// a, b, … z, aa, ab
        case lowercaseLetters
        /// A, B, … Z, AA, AB
        case uppercaseLetters
        /// i, ii, iii
        case lowercaseRoman
        /// I, II, III
        case uppercaseRoman
        /// 7, 10, 11
        case octal
        /// f, 10, 11
        case lowercaseHexadecimal
        /// F, 10, 11
        case uppercaseHexadecimal

        /// Returns the number as text. Numbers that the format can't express become decimal digits: 0 and below, and above 3,999 for Roman
        /// numerals.
        ///
        ///     StyleSheet.Numbering.lowercaseLetters.text(of: 28)   // "ab"
        ///     StyleSheet.Numbering.uppercaseRoman.text(of: 2026)   // "MMXXVI"
        public func text(of number: Int) -> String {
            guard number > 0 else { return String(number) }
            return switch self {
            case .decimal: String(number)
            case .lowercaseLetters: Self.letters(of: number, from: "a")
            case .uppercaseLetters: Self.letters(of: number, from: "A")
            case .lowercaseRoman: number < 4_000 ? Self.roman(of: number).lowercased() : String(number)
            case .uppercaseRoman: number < 4_000 ? Self.roman(of: number) : String(number)
            case .octal: String(number, radix: 8)
            case .lowercaseHexadecimal: String(number, radix: 16)
            case .uppercaseHexadecimal: String(number, radix: 16, uppercase: true)
            }
        }

        private static func letters(of number: Int, from first: Unicode.Scalar) -> String {
            var left = number
            var letters: [Character] = []
            while left > 0 {
                let letter = UInt8(first.value) + UInt8((left - 1) % 26)
                letters.append(Character(Unicode.Scalar(letter)))
                left = (left - 1) / 26
            }
            return String(letters.reversed())
        }

        private static func roman(of number: Int) -> String {
            let values = [
                (1_000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
                (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
            ]
            var left = number
            var text = ""
            for (value, letters) in values {
                while left >= value {
                    text += letters
                    left -= value
                }
            }
            return text
        }
    }
}

extension StyleSheet.Marker {
    /// Returns the marker of an item. `number` is `nil` in a bullet list, `delimiter` is the character after the number in the document,
    /// and `depth` is the number of enclosing lists of the same kind.
    func text(number: Int?, delimiter: Character, depth: Int) -> String {
        switch (self, number) {
        case (.none, _): ""
        // Each item repeats the prefix, the suffix and the bullet.
        case (.numbers(let numberings, let prefix, let suffix), let number?):
            Self.limited(prefix)
                + (numberings.isEmpty ? .decimal : numberings[depth % numberings.count]).text(of: number)
                + (suffix.map(Self.limited) ?? String(delimiter))
        case (.bullets, let number?): String(number) + String(delimiter)
        case (.bullets(let bullets), nil): bullets.isEmpty ? "" : bullets[depth % bullets.count].text
        case (.numbers, nil): "•"
        }
    }

    /// Returns the shape of an item in a bullet list, or `nil` if it is a text.
    func shape(depth: Int) -> StyleSheet.Bullet? {
        guard case .bullets(let bullets) = self, !bullets.isEmpty else { return nil }
        if case .text = bullets[depth % bullets.count] { return nil }
        return bullets[depth % bullets.count]
    }

    static func limited(_ text: String) -> String { String(text.unicodeScalars.prefix(64)) }
}

extension StyleSheet.Bullet {
    /// The text, or a character of the shape.
    var text: String {
        switch self {
        case .text(let text): StyleSheet.Marker.limited(text)
        case .disc: "•"
        case .circle: "◦"
        case .square: "▪"
        }
    }
}

// MARK: - Resolving

extension ResolvedBlockStyle {
    /// The marker of task items, with plain colors.
    public enum TaskMarker: Sendable, Hashable {
        /// A checkbox in the color of the text, or in a color for each state.
        case checkbox(open: StyleSheet.Tone?, done: StyleSheet.Tone?)
        /// A text for each state.
        case texts(open: String, done: String)
    }
}

extension ResolvedBlockStyle.TaskMarker? {
    func text(of state: Document.TaskState) -> String {
        guard case .texts(let open, let done) = self else { return state == .open ? "☐" : "☑" }
        return StyleSheet.Marker.limited(state == .open ? open : done)
    }

    /// Whether the box of the marker can be drawn in place of its last character.
    var isCheckbox: Bool { if case .texts = self { false } else { true } }

    func color(of state: Document.TaskState) -> StyleSheet.Tone? {
        guard case .checkbox(let open, let done) = self else { return nil }
        return state == .open ? open : done
    }
}

extension ResolvedStyleSheet {
    func resolved(_ marker: StyleSheet.TaskMarker) -> ResolvedBlockStyle.TaskMarker {
        switch marker {
        case .checkbox(let open, let done): .checkbox(open: open.map(tone), done: done.map(tone))
        case .texts(let open, let done): .texts(open: open, done: done)
        }
    }
}

extension StyledText {
    /// Returns the style of an item's marker. A checkbox without a number has its own color.
    func markerStyle(ofItem index: Int) -> ResolvedTextStyle {
        var style = blocks[index].style.text
        guard case .item(let item) = blocks[index].kind, item.number == nil, let task = item.task,
            let color = taskMarker(ofItem: index).color(of: task)
        else { return style }
        style.color = color
        return style
    }

    func taskMarker(ofItem index: Int) -> ResolvedBlockStyle.TaskMarker? {
        blocks[index].parent.flatMap { blocks[$0].style.taskMarker }
    }
}

// MARK: - JSON

extension StyleSheet.Marker {
    private enum Part: String, CaseIterable {
        case numbers, prefix, suffix, bullets
    }

    init(json decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            guard text == "none" else {
                throw NativeMarkError(
                    .styleSheet, at: decoder.codingPath, "isn't a marker: '\(text)'",
                    remedy: "Write \"none\", { \"numbers\": [\"decimal\"] } or { \"bullets\": [\"•\"] }")
            }
            self = .none
            return
        }
        let object = try decoder.object(of: Part.self, called: "part of a marker")
        let numbers = try object.value(of: .numbers) {
            try $0.elements(of: "numberings") {
                try $0.choice(of: StyleSheet.Numbering.self, called: "a numbering")
            }
        }
        let prefix = try object.value(of: .prefix) { try $0.string(expected: "a prefix") }
        let suffix = try object.value(of: .suffix) { try $0.string(expected: "a suffix") }
        let bullets = try object.value(of: .bullets) {
            try $0.elements(of: "bullets") { try StyleSheet.Bullet(json: $0) }
        }
        switch (numbers, bullets) {
        case (let numbers?, nil): self = .numbers(numbers, prefix: prefix ?? "", suffix: suffix)
        case (nil, let bullets?) where prefix == nil && suffix == nil: self = .bullets(bullets)
        default:
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "must have one kind of marker",
                remedy: "Write either \"numbers\", with or without \"prefix\" and \"suffix\", or \"bullets\"")
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .none: try encoder.write("none")
        case .numbers(let numberings, let prefix, let suffix):
            var container = encoder.container(keyedBy: StyleKey.self)
            try container.encode(numberings.map(\.rawValue), forKey: "numbers")
            if !prefix.isEmpty { try container.encode(prefix, forKey: "prefix") }
            try container.encodeIfPresent(suffix, forKey: "suffix")
        case .bullets(let bullets):
            var container = encoder.container(keyedBy: StyleKey.self)
            var elements = container.nestedUnkeyedContainer(forKey: "bullets")
            for bullet in bullets { try bullet.encode(into: elements.superEncoder()) }
        }
    }
}

extension StyleSheet.Bullet {
    private enum Part: String, CaseIterable {
        case shape
    }

    fileprivate enum Shape: String, CaseIterable {
        case disc, circle, square
    }

    /// Reads a text, or an object with a shape.
    init(json decoder: any Decoder) throws {
        guard (try? decoder.container(keyedBy: StyleKey.self)) != nil else {
            guard let text = try? decoder.singleValueContainer().decode(String.self) else {
                throw NativeMarkError(
                    .styleSheet, at: decoder.codingPath, "isn't a bullet",
                    remedy: "Write a string, or a shape such as { \"shape\": \"disc\" }")
            }
            self = .text(text)
            return
        }
        let object = try decoder.object(of: Part.self, called: "part of a bullet")
        switch try object.value(of: .shape, { try $0.choice(of: Shape.self, called: "a shape") }) {
        case .disc: self = .disc
        case .circle: self = .circle
        case .square: self = .square
        case nil:
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "has no shape", remedy: "Add \"shape\": \"disc\"")
        }
    }

    func encode(into encoder: any Encoder) throws {
        let shape: Shape
        switch self {
        case .text(let text): return try encoder.write(text)
        case .disc: shape = .disc
        case .circle: shape = .circle
        case .square: shape = .square
        }
        try encoder.write(["shape": shape.rawValue])
    }
}

extension StyleSheet.Bullet.Shape: NamedInJSON {}

extension StyleSheet.TaskMarker {
    private enum Part: String, CaseIterable {
        case checkbox, open, done
    }

    private enum State: String, CaseIterable {
        case open, done
    }

    /// Reads `"checkbox"`, an object with a checkbox and its colors, or one with two texts.
    init(json decoder: any Decoder) throws {
        if (try? decoder.singleValueContainer().decode(String.self)) == "checkbox" {
            self = .checkbox()
            return
        }
        guard (try? decoder.container(keyedBy: StyleKey.self)) != nil else {
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "isn't a marker of tasks",
                remedy:
                    "Write \"checkbox\", { \"checkbox\": { \"done\": \"accent\" } } or { \"open\": \"[ ]\", \"done\": \"[x]\" }"
            )
        }
        let object = try decoder.object(of: Part.self, called: "part of a task's marker")
        let colors = try object.value(of: .checkbox) {
            try $0.object(of: State.self, called: "state of a task").values { try StyleSheet.Color(json: $1) }
        }
        let open = try object.value(of: .open) { try $0.string(expected: "a text for open tasks") }
        let done = try object.value(of: .done) { try $0.string(expected: "a text for finished tasks") }
        switch (colors, open, done) {
        case (let colors?, nil, nil): self = .checkbox(open: colors[.open], done: colors[.done])
        case (nil, let open?, let done?): self = .texts(open: open, done: done)
        default:
            throw NativeMarkError(
                .styleSheet, at: decoder.codingPath, "must have a checkbox or two texts",
                remedy: "Write either \"checkbox\", or both \"open\" and \"done\"")
        }
    }

    func encode(into encoder: any Encoder) throws {
        switch self {
        case .checkbox(nil, nil): try encoder.write("checkbox")
        case .checkbox(let open, let done):
            var container = encoder.container(keyedBy: StyleKey.self)
            var colors = container.nestedContainer(keyedBy: StyleKey.self, forKey: "checkbox")
            try open?.encode(into: colors.superEncoder(forKey: "open"))
            try done?.encode(into: colors.superEncoder(forKey: "done"))
        case .texts(let open, let done): try encoder.write(["open": open, "done": done])
        }
    }
}
