/// A style sheet as CSS for the elements that `HTMLWriter` writes, inside an element of class `nativemark`.
///
/// ```css
/// .nativemark { --nm-accent: #0050c8; }
/// @media (prefers-color-scheme: dark) { .nativemark { --nm-accent: #7db8ff; } }
/// .nativemark h1 { font-size: 1.647rem; color: var(--nm-accent); }
/// ```
///
/// Strings from the sheet are written only as CSS strings, so an untrusted sheet can't close the style element or load a resource. The CSS
/// is at most a constant factor longer than the sheet's JSON.
struct StyleSheetCSS {
    private let sheet: StyleSheet
    private var colors = CSSColors()
    /// The names of the counter styles, by their definitions.
    private var counterStyles: [String: String] = [:]
    private var rules = ""

    /// The text between `<style>` and `</style>`.
    static func text(of sheet: StyleSheet) -> String {
        var css = StyleSheetCSS(sheet: sheet)
        for selector in StyleSheet.BlockSelector.allCases {
            if let styles = sheet.blocks[selector] { css.add(styles, to: selector) }
        }
        for selector in StyleSheet.InlineSelector.allCases {
            if let styles = sheet.inlines[selector] {
                css.add(element(selector), css.declarations(styles) + css.boxes(styles))
                // The rule for images wins over those for blocks, however specific these are.
                css.addImages(selector == .image ? " img:not(.nm.nm.nm)" : "\(element(selector)) img", styles)
            }
        }
        return base + css.colors.rules + css.rules + tightLists
    }

    private init(sheet: StyleSheet) { self.sheet = sheet }

    /// Resets the browser's styles, so that elements look as the sheet says. `:where` has no specificity, so every rule of the sheet
    /// overrides it.
    private static let base = """
        .nativemark { background-color: Canvas; color: CanvasText; }
        :where(.nativemark) :is(h1, h2, h3, h4, h5, h6, p, blockquote, pre, ol, ul, table, hr) { margin: 0; }
        :where(.nativemark) :is(h1, h2, h3, h4, h5, h6, em, strong, code, pre, th, sup) { font: inherit; }
        :where(.nativemark) :is(a, s) { color: inherit; text-decoration-line: none; }
        :where(.nativemark) :is(ol, ul) { padding-inline-start: 2em; }
        :where(.nativemark .task-list-item) { list-style-type: none; }
        :where(.nativemark) hr { border: 0 solid; border-block-start-width: 1px; color: inherit; }
        :where(.nativemark) pre { overflow-x: auto; }
        :where(.nativemark) table { border-collapse: collapse; }
        :where(.nativemark) :is(th, td) { padding: 0.2em 0.6em; text-align: start; }
        :where(.nativemark) img { max-width: 100%; }
        :where(.nativemark) sup { vertical-align: baseline; }

        """

    /// A list in a tight item has no space around it. A tight item is recognized by its text, which isn't in a paragraph.
    private static let tightLists = """
        .nativemark li:not(:has(> p)) > :is(ol, ul):not(.footnotes > ol) { margin-block: 0; }

        """

    private static func element(_ selector: StyleSheet.BlockSelector) -> String {
        switch selector {
        case .document: ""
        case .paragraph: " p"
        case .headings: " :is(h1, h2, h3, h4, h5, h6)"
        case .heading(let level): " h\(level)"
        case .blockQuote: " blockquote"
        case .codeBlock: " pre"
        case .lists, .listLevel, .tightLists, .looseLists: " :is(ol, ul):not(.footnotes > ol)\(condition(selector))"
        case .list(.ordered): " ol:not(.footnotes > ol)"
        case .list(.bullets): " ul:not(.footnotes > ol)"
        case .item: " li:not(.footnotes > ol > li)"
        case .taskItem(.open): " li:not(.footnotes > ol > li):where(.task-list-item:not(:has(> :checked)))"
        case .taskItem(.done): " li:not(.footnotes > ol > li):where(.task-list-item:has(> :checked))"
        case .thematicBreak: " hr"
        case .table: " table"
        case .tableHeader: " thead tr"
        case .tableRow: " tbody tr"
        case .tableCell: " :is(th, td)"
        case .footnotes: " .footnotes"
        case .footnote: " .footnotes > ol > li"
        // More specific than every other block.
        case .firstBlock: " > :first-child:not(.nm)"
        case .lastBlock: " > :last-child:not(.nm)"
        }
    }

    /// What a narrower rule for lists requires. It has no specificity, so a later rule wins.
    private static func condition(_ selector: StyleSheet.BlockSelector) -> String {
        let list = ":is(ol:not(.footnotes > ol), ul)"
        switch selector {
        case .listLevel(let level):
            let outer = Array(repeating: list, count: level).joined(separator: " ")
            return ":where(\(outer):not(\(outer) \(list)))"
        case .tightLists: return ":where(:not(:has(> li > p)))"
        case .looseLists: return ":where(:has(> li > p))"
        default: return ""
        }
    }

    private static func element(_ selector: StyleSheet.InlineSelector) -> String {
        switch selector {
        case .emphasis: " em"
        case .strong: " strong"
        case .code: " :not(pre) > code"
        case .link: " a:not(.footnote-ref > a)"
        case .image: " img"
        case .strikethrough: " s"
        case .footnoteReference: " .footnote-ref"
        case .token(let kind): " .code-\(kind.rawValue)"
        }
    }

    private mutating func add(_ element: String, _ declarations: [String]) {
        guard !declarations.isEmpty else { return }
        rules += ".nativemark\(element) { \(declarations.joined(separator: " ")) }\n"
    }

    // MARK: Blocks

    private mutating func add(_ styles: [StyleSheet.BlockStyle], to selector: StyleSheet.BlockSelector) {
        let texts = styles.compactMap { if case .text(let style) = $0 { style } else { nil } }
        var declarations = self.declarations(texts)
        var height: String?
        for style in styles {
            switch style {
            case .text, .marker, .divider, .tableLines, .alternateRowBackground, .taskMarker: break
            case .alignment(let alignment): declarations.append("text-align: \(Self.css(alignment));")
            case .firstLineIndent(let length): declarations.append("text-indent: \(CSSText.length(length));")
            case .leadingIndent(let length): declarations.append("margin-inline-start: \(CSSText.distance(length));")
            case .trailingIndent(let length): declarations.append("margin-inline-end: \(CSSText.distance(length));")
            case .spacingBefore(let length): declarations.append("margin-block-start: \(CSSText.distance(length));")
            case .spacingAfter(let length): declarations.append("margin-block-end: \(CSSText.distance(length));")
            case .lineSpacing(let length): height = "calc(1.2em + \(CSSText.distance(length)))"
            case .lineHeight(let multiple) where multiple.isFinite:
                let lines = CSSText.number(multiple, 0.1...10)
                let spacing = styles.lazy.compactMap { if case .lineSpacing(let length) = $0 { length } else { nil } }
                height = spacing.first.map { "calc(\(lines)em + \(CSSText.distance($0)))" } ?? lines
            case .lineHeight: break
            case .hyphenation(let isOn): declarations.append("hyphens: \(isOn ? "auto" : "manual");")
            case .border(let border): add(border, &declarations)
            case .padding(let padding): declarations += Self.declarations(padding)
            case .background(let color):
                declarations.append("background-color: \(colors.value(of: color, in: sheet, isBackground: true));")
            }
        }
        if let height { declarations.append("line-height: \(height);") }
        addImages("\(Self.element(selector)) img", texts)
        let inside = selector == .table ? tableLines(styles, &declarations) : []
        add(Self.element(selector), declarations)
        for (element, declarations) in inside { add(element, [declarations]) }
        for style in styles {
            switch style {
            case .marker(let marker): add(marker, to: selector)
            case .taskMarker(let marker): add(marker, to: selector)
            case .divider(let divider) where selector == .thematicBreak: add(divider)
            default: break
            }
        }
    }

    private mutating func add(_ divider: StyleSheet.Divider) {
        switch divider {
        case .ornament(let text, let alignment):
            let ornament = StyleSheet.Divider.limited(text)
            add(" hr", ["border: 0;", "block-size: auto;", "text-align: \(Self.css(alignment));"])
            add(" hr::before", ["content: \(CSSText.string(ornament));", "white-space: pre-wrap;"])
        case .rule(let thickness, let color, let width, let pattern, let alignment):
            var declarations = ["border-block-start: \(CSSText.distance(thickness)) \(pattern.rawValue)"]
            declarations[0] += color.map { " \(colors.value(of: $0, in: sheet, isBackground: false));" } ?? ";"
            if width != .fraction(1) {
                declarations.append("inline-size: \(CSSText.extent(width));")
                switch alignment {
                case .leading, .justified: declarations.append("margin-inline-end: auto;")
                case .center: declarations.append("margin-inline: auto;")
                case .trailing: declarations.append("margin-inline-start: auto;")
                }
            }
            add(" hr", declarations)
        }
    }

    private static func declarations(_ padding: StyleSheet.Padding) -> [String] {
        [
            ("block-start", padding.top), ("inline-start", padding.leading), ("block-end", padding.bottom),
            ("inline-end", padding.trailing),
        ].filter { $0.1 != .points(0) }.map { "padding-\($0.0): \(CSSText.distance($0.1));" }
    }

    private static func css(_ alignment: StyleSheet.Alignment) -> String {
        switch alignment {
        case .leading: "start"
        case .center: "center"
        case .trailing: "end"
        case .justified: "justify"
        }
    }

    private mutating func add(_ border: StyleSheet.Border, _ declarations: inout [String]) {
        addEdges(of: border, line(border.width, border.pattern, border.color), &declarations)
        if border.cornerRadius != .points(0) {
            declarations.append("border-radius: \(CSSText.distance(border.cornerRadius));")
        }
    }

    /// Returns the rules for the lines and rows in a table. Adds its outer lines to the declarations.
    private mutating func tableLines(
        _ styles: [StyleSheet.BlockStyle], _ declarations: inout [String]
    ) -> [(element: String, declarations: String)] {
        var border: StyleSheet.Border?
        var lines: StyleSheet.TableLines?
        var stripes: [(String, String)] = []
        for style in styles {
            switch style {
            case .border(let own): border = own
            case .tableLines(let own): lines = own
            case .alternateRowBackground(let color):
                let value = colors.value(of: color, in: sheet, isBackground: true)
                stripes = [(" tbody tr:nth-child(even)", "background-color: \(value);")]
            default: break
            }
        }
        // Without lines of its own, a table has those of its border between its columns and below its header.
        guard
            let own = lines
                ?? border.map({ .init([.header, .columns], width: $0.width, color: $0.color, pattern: $0.pattern) })
        else { return stripes }
        let line = line(own.width, own.pattern, own.color)
        if own.parts.contains(.outer), border == nil { declarations.append("border: \(line)") }
        var rules: [(String, String)] = []
        if !own.parts.isDisjoint(with: [.header, .rows]) { rules.append((" thead", "border-block-end: \(line)")) }
        if own.parts.contains(.rows) { rules.append((" tbody tr + tr", "border-block-start: \(line)")) }
        if own.parts.contains(.columns) {
            rules.append((" :is(th, td) + :is(th, td)", "border-inline-start: \(line)"))
        }
        return rules + stripes
    }

    private mutating func line(
        _ width: StyleSheet.Length, _ pattern: StyleSheet.Border.Pattern, _ color: StyleSheet.Color
    ) -> String {
        let color = colors.value(of: color, in: sheet, isBackground: false)
        return "\(CSSText.distance(width)) \(pattern.rawValue) \(color);"
    }

    private func addEdges(of border: StyleSheet.Border, _ line: String, _ declarations: inout [String]) {
        for edge in StyleSheet.Edge.allCases where border.edges.contains(edge) {
            let side =
                switch edge {
                case .top: "block-start"
                case .leading: "inline-start"
                case .bottom: "block-end"
                case .trailing: "inline-end"
                }
            declarations.append("border-\(side): \(line)")
        }
    }

    /// If there are several values, each nesting level of a kind of list uses the next one, down to nine levels.
    private mutating func add(_ marker: StyleSheet.Marker, to selector: StyleSheet.BlockSelector) {
        let elements =
            switch selector {
            case .lists, .listLevel, .tightLists, .looseLists: ["ol", "ul"]
            case .list(.ordered): ["ol"]
            case .list(.bullets): ["ul"]
            default: [String]()
            }
        for element in elements {
            let types = types(marker, isOrdered: element == "ol")
            let condition = Self.condition(selector)
            if !condition.isEmpty {
                let depth = if case .listLevel(let level) = selector { level - 1 } else { 0 }
                // More specific than the rules for nine levels.
                add(
                    " \(element):not(.footnotes > ol, .nm .nm .nm)\(condition)",
                    ["list-style-type: \(types[depth % types.count]);"])
                continue
            }
            for depth in 0..<(types.count == 1 ? 1 : 9) {
                let outer = String(repeating: " \(element)", count: depth)
                add("\(outer) \(element):not(.footnotes > ol)", ["list-style-type: \(types[depth % types.count]);"])
            }
        }
    }

    private mutating func types(_ marker: StyleSheet.Marker, isOrdered: Bool) -> [String] {
        switch marker {
        case .none: return ["none"]
        case .numbers(let numberings, let prefix, let suffix) where isOrdered:
            return (numberings.isEmpty ? [.decimal] : numberings).map {
                counterStyle(of: $0, prefix: prefix, suffix: suffix)
            }
        case .bullets(let bullets) where !isOrdered:
            return bullets.isEmpty ? ["none"] : bullets.map(Self.type)
        case .numbers, .bullets: return [isOrdered ? "decimal" : CSSText.string("• ")]
        }
    }

    private static func type(_ bullet: StyleSheet.Bullet) -> String {
        switch bullet {
        case .text(""): "none"
        case .text: CSSText.string(bullet.text + " ")
        case .disc: "disc"
        case .circle: "circle"
        case .square: "square"
        }
    }

    private mutating func add(_ marker: StyleSheet.TaskMarker, to selector: StyleSheet.BlockSelector) {
        switch selector {
        case .lists, .list, .listLevel, .tightLists, .looseLists: break
        default: return
        }
        let box = "\(Self.element(selector)) > li > .task-list-item-checkbox"
        switch marker {
        case .checkbox(nil, nil): break
        case .checkbox(let open, let done):
            let states = [open, done].map {
                $0.map { colors.value(of: $0, in: sheet, isBackground: false) } ?? "currentcolor"
            }
            add(
                box,
                [
                    "appearance: none;", "inline-size: 0.8em;", "block-size: 0.8em;", "margin: 0;",
                    "border: 0.08em solid \(states[0]);", "border-radius: 0.15em;",
                ])
            add("\(box):checked", ["border-color: \(states[1]);", "background-color: \(states[1]);"])
            add(
                "\(box):checked::before",
                [
                    "content: \(CSSText.string("✓"));", "display: block;", "color: Canvas;", "font-size: 0.7em;",
                    "line-height: 1;", "text-align: center;",
                ])
        case .texts(let open, let done):
            add(box, ["appearance: none;", "inline-size: auto;", "block-size: auto;", "margin: 0;", "font: inherit;"])
            add("\(box)::before", ["content: \(CSSText.string(StyleSheet.Marker.limited(open)));"])
            add("\(box):checked::before", ["content: \(CSSText.string(StyleSheet.Marker.limited(done)));"])
        }
    }

    /// Returns the name of a counter style (CSS Counter Styles 3), which is defined in the sheet if CSS has none.
    private mutating func counterStyle(
        of numbering: StyleSheet.Numbering, prefix: String, suffix: String?
    ) -> String {
        let known: String
        var symbols: String?
        switch numbering {
        case .decimal: known = "decimal"
        case .lowercaseLetters: known = "lower-alpha"
        case .uppercaseLetters: known = "upper-alpha"
        case .lowercaseRoman: known = "lower-roman"
        case .uppercaseRoman: known = "upper-roman"
        case .octal: (known, symbols) = ("octal", "01234567")
        case .lowercaseHexadecimal: (known, symbols) = ("hexadecimal", "0123456789abcdef")
        case .uppercaseHexadecimal: (known, symbols) = ("uppercase-hexadecimal", "0123456789ABCDEF")
        }
        guard symbols != nil || !prefix.isEmpty || suffix != nil else { return known }
        var parts = [
            symbols.map { "system: numeric; symbols: \($0.map { CSSText.string(String($0)) }.joined(separator: " "));" }
                ?? "system: extends \(known);"
        ]
        if !prefix.isEmpty { parts.append("prefix: \(CSSText.string(StyleSheet.Marker.limited(prefix)));") }
        if let suffix { parts.append("suffix: \(CSSText.string(StyleSheet.Marker.limited(suffix) + " "));") }
        let definition = parts.joined(separator: " ")
        if let name = counterStyles[definition] { return name }
        let name = "nm-\(known)-\(counterStyles.count)"
        counterStyles[definition] = name
        rules += "@counter-style \(name) { \(definition) }\n"
        return name
    }

    // MARK: Text

    private mutating func declarations(_ styles: [StyleSheet.InlineStyle]) -> [String] {
        var declarations: [String] = []
        var design = StyleSheet.FontDesign.default
        var lines: [(name: String, line: StyleSheet.TextLine)]?
        for style in styles {
            switch style {
            case .textStyle(let style):
                let size = style.size(at: .large, on: .iOS) / CSSText.pointsOfRootEm
                declarations.append("font-size: \(CSSText.number(size))rem;")
            case .fontSize(.em(let ems)): declarations.append("font-size: \(CSSText.number(ems, 0...1_000))em;")
            case .fontSize(.points(let points)):
                declarations.append("font-size: \(CSSText.number(points / CSSText.pointsOfRootEm, 0...1_000))rem;")
            case .fontDesign(let own):
                design = own
                declarations.append("font-family: \(CSSText.stack(own));")
            case .fontFamily(let name):
                declarations.append("font-family: \(CSSText.string(name)), \(CSSText.stack(design));")
            case .fontWeight(let weight): declarations.append("font-weight: \(weight.number);")
            case .fontWidth(let width): declarations.append("font-stretch: \(CSSText.stretch(width));")
            case .color(let color):
                declarations.append("color: \(colors.value(of: color, in: sheet, isBackground: false));")
            case .inlineBackground(let box):
                declarations.append("background-color: \(colors.value(of: box.color, in: sheet, isBackground: true));")
            case .kerning(let length): declarations.append("letter-spacing: \(CSSText.length(length));")
            case .baseline(let length): declarations.append("vertical-align: \(CSSText.length(length));")
            case .bold(let isOn): declarations.append("font-weight: \(isOn ? "bolder" : "normal");")
            case .italic(let isOn): declarations.append("font-style: \(isOn ? "italic" : "normal");")
            case .underline(let line): lines = (lines ?? []) + (line.map { [("underline", $0)] } ?? [])
            case .strikethrough(let line): lines = (lines ?? []) + (line.map { [("line-through", $0)] } ?? [])
            case .imageLayout: break
            }
        }
        if let lines { add(lines, to: &declarations) }
        return declarations
    }

    private mutating func addImages(_ element: String, _ styles: [StyleSheet.InlineStyle]) {
        for case .imageLayout(let layout) in styles {
            var declarations: [String]
            switch layout.size {
            case .natural: declarations = ["width: auto;", "max-width: 100%;", "max-height: none;"]
            case .fitWidth: declarations = ["width: 100%;", "height: auto;", "max-height: none;"]
            case .maximum(let width, let height):
                declarations = [
                    "width: auto;", "height: auto;",
                    "max-width: \(width.map { "min(100%, \(CSSText.distance($0)))" } ?? "100%");",
                    "max-height: \(height.map(CSSText.distance) ?? "none");",
                ]
            }
            declarations.append("border-radius: \(CSSText.distance(layout.cornerRadius));")
            add(element, declarations)
            switch layout.alignment {
            case nil: break
            case .leading, .justified: add("\(element).nm-alone", ["display: block;", "margin-inline: 0 auto;"])
            case .center: add("\(element).nm-alone", ["display: block;", "margin-inline: auto;"])
            case .trailing: add("\(element).nm-alone", ["display: block;", "margin-inline: auto 0;"])
            }
        }
    }

    /// The form of a background, for an inline element: in a block rule, the background is behind the whole block.
    private mutating func boxes(_ styles: [StyleSheet.InlineStyle]) -> [String] {
        for case .inlineBackground(let box) in styles {
            var declarations = Self.declarations(box.padding)
            if box.cornerRadius != .points(0) {
                declarations.append("border-radius: \(CSSText.distance(box.cornerRadius));")
            }
            if let border = box.border {
                addEdges(of: border, line(border.width, border.pattern, border.color), &declarations)
            }
            return declarations
        }
        return []
    }

    /// CSS has one style and one color for all lines of an element, so those of the first line apply.
    private mutating func add(
        _ lines: [(name: String, line: StyleSheet.TextLine)], to declarations: inout [String]
    ) {
        let names = lines.map(\.name).joined(separator: " ")
        declarations.append("text-decoration-line: \(names.isEmpty ? "none" : names);")
        guard let line = lines.first?.line else { return }
        switch line.pattern {
        case .single: break
        case .thick: declarations.append("text-decoration-thickness: 0.125em;")
        case .double, .dotted, .dashed, .wavy:
            declarations.append("text-decoration-style: \(line.pattern.rawValue);")
        }
        if let color = line.color {
            declarations.append(
                "text-decoration-color: \(colors.value(of: color, in: sheet, isBackground: false));")
        }
    }
}
