extension TerminalLayout {
    /// Adds link targets and image sources to the text. `images` replace the descriptions of these images.
    func inlineText(
        of runs: ArraySlice<StyledText.Run>, in block: StyledText.Block, images: [Int: TerminalRenderer.Image] = [:]
    ) -> InlineText {
        var result = InlineText()
        append(runs, in: block, images: images, to: &result)
        return result
    }

    func append(
        _ runs: ArraySlice<StyledText.Run>, in block: StyledText.Block, images: [Int: TerminalRenderer.Image] = [:],
        to result: inout InlineText
    ) {
        var said = ""
        let marksStruckText = renderer.color == .none && !block.isCode
        for index in runs.indices {
            let run = runs[index]
            let isStruck = marksStruckText && run.style.isStruckThrough
            if isStruck, index == runs.startIndex || !runs[index - 1].style.isStruckThrough {
                result.append(Self.strikethrough, InlineText.Look(style: run.style, link: nil))
            }
            defer {
                if isStruck, index + 1 == runs.endIndex || !runs[index + 1].style.isStruckThrough {
                    result.append(Self.strikethrough, InlineText.Look(style: run.style, link: nil))
                }
            }
            let hyperlink = hyperlink(of: run)
            let look = InlineText.Look(style: run.style, link: hyperlink)
            let image = run.image.flatMap { images[$0] }
            let shown = image == nil ? string(of: run, in: block) : ""
            result.append(shown, look)
            if let image { result.append(inLine(image, link: look.link)) }
            said += shown
            let plain = InlineText.Look(style: block.style.text, link: nil, isTarget: true)
            if let number = run.image, image == nil, hyperlink == nil, renderer.images != .alternativeText {
                result.append(target(text.images[number].source, unlessIn: shown), plain)
            }
            let isLast = index + 1 == runs.endIndex || runs[index + 1].link != run.link
            if isLast, let link = run.link, hyperlink == nil {
                result.append(target(text.links[link].destination, unlessIn: said), plain)
            }
            if isLast { said = "" }
        }
    }

    /// The delimiter of struck text where there are no text attributes. As in Markdown, so that it survives copying, and can be read aloud.
    private static let strikethrough = "~~"

    private func target(_ target: String, unlessIn said: String) -> String {
        // A target that begins with # is in the document itself. A table of contents would be hard to read with them.
        let isSilent = target.isEmpty || target.hasPrefix("#") || LinkTarget.isSaid(target, by: said)
        return isSilent ? "" : " <\(LinkTarget.visible(target))>"
    }

    /// Returns the hyperlink of a run in a link or of an image. If a terminal can't follow the target, the target is visible instead.
    func hyperlink(of run: StyledText.Run) -> InlineText.Hyperlink? {
        guard renderer.hyperlinks else { return nil }
        var target = ""
        var number = 0
        if let link = run.link {
            (target, number) = (text.links[link].destination, link)
        } else if let image = run.image, renderer.images != .alternativeText {
            // Images are numbered after the links.
            (target, number) = (text.images[image].source, text.links.count + image)
        }
        return LinkTarget.hyperlink(target).map { .init(target: $0, number: number) }
    }

    private func string(of run: StyledText.Run, in block: StyledText.Block) -> String {
        if run.isLineBreak { return "\n" }
        if let image = run.image, text.images[image].alternativeText.isEmpty {
            let path = text.images[image].source.prefix { $0 != "?" && $0 != "#" }
            let name = path.split(separator: "/").last ?? "image"
            return TerminalText.sanitized(String(name))
        }
        let string = String(text.string(of: run))
        if block.isCode { return Self.code(string) }
        if run.footnote != nil, run.style.baseline == 0 { return "[\(string)]" }
        return Self.raised(TerminalText.sanitized(string), by: run.style.baseline)
    }

    /// Returns sanitized code. A tab advances to the next multiple of four columns from the beginning of the run or line.
    private static func code(_ string: String) -> String {
        var lines: [String] = []
        for line in string.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            var result = ""
            var column = 0
            for part in line.split(separator: "\t", omittingEmptySubsequences: false) {
                if column > 0 || !result.isEmpty || part.startIndex > line.startIndex {
                    let stop = 4 - column % 4
                    result += String(repeating: " ", count: stop)
                    column += stop
                }
                let clean = TerminalText.sanitized(String(part))
                result += clean
                column += TerminalText.width(of: clean)
            }
            lines.append(result)
        }
        return lines.joined(separator: "\n")
    }

    /// Returns the text as superscript or subscript digits if the style raises or lowers it and it has only digits.
    private static func raised(_ string: String, by baseline: Double) -> String {
        guard baseline != 0 else { return string }
        let digits = Array(baseline > 0 ? "⁰¹²³⁴⁵⁶⁷⁸⁹" : "₀₁₂₃₄₅₆₇₈₉")
        var result = ""
        for character in string {
            guard character.isASCII, let digit = character.wholeNumberValue else { return string }
            result.append(digits[digit])
        }
        return result
    }
}

// MARK: - Link targets

/// Makes link targets safe for the two places where a terminal receives them.
enum LinkTarget {
    static func visible(_ target: String) -> String {
        TerminalText.sanitized(target)
    }

    /// The longest target of a hyperlink in bytes. VTE ignores longer ones, as Internet Explorer did.
    static let longestHyperlink = 2_083

    /// Returns the target for a hyperlink, or `nil` if a terminal can't follow it: a target that isn't absolute, because a terminal
    /// doesn't know the document's address, or one that is too long.
    static func hyperlink(_ target: String) -> String? {
        guard target.utf8.count <= longestHyperlink, isAbsolute(target) else { return nil }
        let encoded = encoded(target)
        return encoded.utf8.count <= longestHyperlink ? encoded : nil
    }

    /// Returns the target for OSC 8, which allows only the bytes 0x20 to 0x7E. Other bytes and spaces are percent-encoded.
    static func encoded(_ target: String) -> String {
        var result = ""
        for byte in target.utf8 {
            if byte > 0x20, byte < 0x7F {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 0x10 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }

    /// Whether the target has a scheme (RFC 3986, section 3.1) of at least two characters; one is a drive of Windows.
    static func isAbsolute(_ target: String) -> Bool {
        let scheme = target.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard scheme.count >= 2, scheme.count < target.utf8.count, let first = scheme.first else { return false }
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        return isLetter(first)
            && scheme.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }
    }

    /// Whether the text is the target, as the parser encodes it.
    static func isSaid(_ target: String, by text: String) -> Bool {
        for said in [text, "mailto:" + text, "http://" + text]
        where said == target || LinkDestination.normalized(Array(said.utf8)) == target {
            return true
        }
        return false
    }
}
