import NativeMark

/// A document on a terminal whose pictures come one after the other: what to write for each of them.
///
///     var screen = PictureScreen(text: text, renderer: renderer, size: size, firstID: 1)
///     write(screen.text)                                     // no picture yet
///     write(screen.add([(number: 0, picture)], on: size))    // the same with a picture, over itself
///     write(screen.end())                                    // what had no room
///
/// While all of it is on the screen, it is drawn again from the first line that changes. A picture for which there is no room
/// there follows below the text, under its description; so do all where the text alone is too long for the screen, and once
/// the terminal has got another size.
struct PictureScreen {
    /// A picture by the place of its image in ``images``.
    typealias Numbered = (number: Int, picture: TerminalRenderer.Image)

    /// The pictures that stand alone in their paragraphs, each once, in the order of the document.
    let images: [StyledText.Image]
    /// The document without pictures.
    let text: String

    private let styled: StyledText
    private let renderer: TerminalRenderer
    private let size: Console.Size
    private let numbers: [String: Int]
    /// Whether the document can be drawn over itself; what is there then, and the pictures in it.
    private var isInPlace: Bool
    private var lines: [Substring] = []
    private var inText: [Int: TerminalRenderer.Image] = [:]
    /// The pictures that wait for the end.
    private var below: [Int: TerminalRenderer.Image] = [:]
    /// What the terminal is to call the first picture in the text, and the next one below it.
    private let firstID: UInt32
    private var nextID: UInt32

    init(text styled: StyledText, renderer: TerminalRenderer, size: Console.Size, firstID: UInt32) {
        self.styled = styled
        self.renderer = renderer
        self.size = size
        self.firstID = firstID
        var images: [StyledText.Image] = []
        var numbers: [String: Int] = [:]
        var places: UInt32 = 0
        let output = renderer.render(styled) { image in
            places += 1
            if numbers[image.source] == nil {
                numbers[image.source] = images.count
                images.append(image)
            }
            return nil
        }
        (self.images, self.numbers) = (images, numbers)
        nextID = firstID &+ places
        text = output.isEmpty ? "" : output + "\n"
        // A line that is wider than the terminal takes more rows than one.
        let rows = text.utf8.count { $0 == UInt8(ascii: "\n") }
        isInPlace = rows < size.rows && renderer.width <= size.columns
        if isInPlace { lines = Self.lines(of: output) }
    }

    /// The most columns and rows of a picture: the screen keeps room for a description and for what is typed next.
    var room: (columns: Int, rows: Int) {
        (min(renderer.width, size.columns), max(size.rows - 4, 1))
    }

    /// How many pictures are there and wait for the end.
    var waiting: Int { below.count }

    // MARK: What is written

    /// What shows these pictures, if anything does already.
    ///
    /// - Parameter now: The size of the terminal.
    mutating func add(_ pictures: [Numbered], on now: Console.Size?) -> String {
        if now != size { isInPlace = false }
        for (number, picture) in pictures {
            if isInPlace, fits(number, picture) { inText[number] = picture } else { below[number] = picture }
        }
        guard isInPlace else { return end() }
        let before = lines
        lines = rendered(with: inText)
        let same = zip(before, lines).prefix { $0 == $1 }.count
        guard same < max(before.count, lines.count) else { return "" }
        // Erasing text leaves kitty's pictures where they are.
        let removals = before[same...].compactMap(Self.pictureID).map { "\u{1B}_Ga=d,d=I,i=\($0),q=2\u{1B}\\" }
        return TerminalSequence.up(before.count - same) + "\r" + removals.joined() + TerminalSequence.eraseBelow
            + lines[same...].map { $0 + "\n" }.joined()
    }

    /// What shows the pictures that had no room in the text. After it, nothing is drawn over anything.
    mutating func end() -> String {
        isInPlace = isInPlace && below.isEmpty
        defer { below = [:] }
        return below.sorted { $0.key < $1.key }.map { number, picture in
            let image = images[number]
            let name = image.alternativeText.isEmpty ? image.source : image.alternativeText
            let caption = TerminalText.truncated(TerminalText.sanitized(name), toWidth: room.columns)
            // A document that is the picture and nothing else.
            let alone = StyledText(Document("![](picture)"), style: .init())
            var named = picture
            named.id = nextID
            nextID &+= 1
            return "\n\(caption)\n\(renderer.render(alone) { _ in named })\n"
        }.joined()
    }

    // MARK: Rendering

    /// Whether there is room for one more picture, and for the line behind the text.
    private func fits(_ number: Int, _ picture: TerminalRenderer.Image) -> Bool {
        var light = inText
        light[number] = picture
        for key in light.keys { light[key]?.bytes = [0] }
        return rendered(with: light).count < size.rows
    }

    private func rendered(with pictures: [Int: TerminalRenderer.Image]) -> [Substring] {
        var id = firstID
        let output = renderer.render(styled) { image in
            defer { id &+= 1 }
            var picture = numbers[image.source].flatMap { pictures[$0] }
            picture?.id = id
            return picture
        }
        return Self.lines(of: output)
    }

    private static func lines(of output: String) -> [Substring] {
        output.isEmpty
            ? []
            : output.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Substring.init)
    }

    /// What the terminal calls the picture that begins in this line.
    private static func pictureID(in line: Substring) -> UInt32? {
        guard let start = line.afterEscape("_") else { return nil }
        let control = line[start...].utf8.dropFirst().prefix { $0 != UInt8(ascii: ";") }
        return control.split(separator: UInt8(ascii: ",")).lazy.compactMap { key in
            key.starts(with: "i=".utf8) ? UInt32(Substring(key.dropFirst(2))) : nil
        }.first
    }
}
