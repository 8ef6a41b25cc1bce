import NativeMark

/// The output for a document on a terminal, with images that arrive one after the other.
///
///     var screen = ImageScreen(text: text, renderer: renderer, size: size, firstID: 1)
///     write(screen.text)                                     // no image yet
///     write(screen.add([(number: 0, loadedImage)], on: size))    // draws the changed lines again, with an image
///     write(screen.end())                                    // the images that didn't fit
///
/// While the whole document is on the screen, an image is inserted by drawing the document again from the first line that changes.
/// An image that doesn't fit on the screen follows below the text, after its description. All images do so if the text alone is
/// longer than the screen, and after the terminal's size has changed.
struct ImageScreen {
    typealias Numbered = (number: Int, loadedImage: TerminalRenderer.Image)

    /// The images that are alone in their paragraphs, each once, in the order of the document.
    let images: [StyledText.Image]
    let text: String

    private let styled: StyledText
    private let renderer: TerminalRenderer
    private let size: Console.Size
    private let numbers: [String: Int]
    /// Whether the document can be drawn again in its place.
    private var isInPlace: Bool
    /// The lines on the screen, if the document is drawn in place.
    private var lines: [Substring] = []
    private var inText: [Int: TerminalRenderer.Image] = [:]
    private var below: [Int: TerminalRenderer.Image] = [:]
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
        // A line that is wider than the terminal takes several rows.
        let rows = text.utf8.count { $0 == UInt8(ascii: "\n") }
        isInPlace = rows < size.rows && renderer.width <= size.columns
        if isInPlace { lines = Self.lines(of: output) }
    }

    /// The largest size of an image. Rows for its description and the prompt remain.
    var room: (columns: Int, rows: Int) {
        (min(renderer.width, size.columns), max(size.rows - 4, 1))
    }

    var waiting: Int { below.count }

    // MARK: Output

    /// Returns the output that shows these images; empty if they wait for the end. `now` is the current size of the terminal.
    mutating func add(_ loadedImages: [Numbered], on now: Console.Size?) -> String {
        if now != size { isInPlace = false }
        for (number, loadedImage) in loadedImages {
            if isInPlace, fits(number, loadedImage) {
                inText[number] = loadedImage
            } else {
                below[number] = loadedImage
            }
        }
        guard isInPlace else { return end() }
        let before = lines
        lines = rendered(with: inText)
        let same = zip(before, lines).prefix { $0 == $1 }.count
        guard same < max(before.count, lines.count) else { return "" }
        // Erasing text doesn't remove kitty's images.
        let removals = before[same...].compactMap(Self.imageID).map { "\u{1B}_Ga=d,d=I,i=\($0),q=2\u{1B}\\" }
        return TerminalSequence.up(before.count - same) + "\r" + removals.joined() + TerminalSequence.eraseBelow
            + lines[same...].map { $0 + "\n" }.joined()
    }

    /// Returns the output that shows the images that didn't fit into the text. If there are any, later images follow below them.
    mutating func end() -> String {
        isInPlace = isInPlace && below.isEmpty
        defer { below = [:] }
        return below.sorted { $0.key < $1.key }.map { number, loadedImage in
            let image = images[number]
            let name = image.alternativeText.isEmpty ? image.source : image.alternativeText
            let caption = TerminalText.truncated(TerminalText.sanitized(name), toWidth: room.columns)
            // A document with only the image.
            let alone = StyledText(Document("![](image)"), style: .init())
            var named = loadedImage
            named.id = nextID
            nextID &+= 1
            return "\n\(caption)\n\(renderer.render(alone) { _ in named })\n"
        }.joined()
    }

    // MARK: Rendering

    private func fits(_ number: Int, _ loadedImage: TerminalRenderer.Image) -> Bool {
        var light = inText
        light[number] = loadedImage
        for key in light.keys { light[key]?.bytes = [0] }
        return rendered(with: light).count < size.rows
    }

    private func rendered(with loadedImages: [Int: TerminalRenderer.Image]) -> [Substring] {
        var id = firstID
        let output = renderer.render(styled) { image in
            defer { id &+= 1 }
            var loadedImage = numbers[image.source].flatMap { loadedImages[$0] }
            loadedImage?.id = id
            return loadedImage
        }
        return Self.lines(of: output)
    }

    private static func lines(of output: String) -> [Substring] {
        output.isEmpty
            ? []
            : output.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Substring.init)
    }

    /// Returns the terminal's identifier of the image that begins in this line; `nil` if there is none.
    private static func imageID(in line: Substring) -> UInt32? {
        guard let start = line.afterEscape("_") else { return nil }
        let control = line[start...].utf8.dropFirst().prefix { $0 != UInt8(ascii: ";") }
        return control.split(separator: UInt8(ascii: ",")).lazy.compactMap { key in
            key.starts(with: "i=".utf8) ? UInt32(Substring(key.dropFirst(2))) : nil
        }.first
    }
}
