import NativeMark

/// The output for a document on a terminal, with images that arrive one after another.
///
///     var screen = ImageScreen(text: text, renderer: renderer, size: size, firstID: 1)
///     write(screen.text)                                     // no image yet
///     write(screen.add([(number: 0, loadedImage)], on: size))    // draws the changed lines again, with an image
///     write(screen.end())                                    // the images that didn't fit
///
/// While the whole document fits on the screen, an image is inserted by redrawing the document from the first line that changes. An image
/// that doesn't fit is shown below the text, under its description. If the text alone is longer than the screen, or after the size of the
/// terminal has changed, so are all further images. Small images among text are left out instead, because their descriptions in the text
/// say enough.
struct ImageScreen {
    /// The limit on the bytes of the images in the text. An image counts once for each of its places.
    private static let maximumOutput = ImageLoader.Limits().totalBytes

    typealias Numbered = (number: Int, loadedImage: TerminalRenderer.Image)

    /// The images in the order of the document, without duplicates.
    let images: [StyledText.Image]
    let text: String

    private let styled: StyledText
    private let renderer: TerminalRenderer
    private let size: Console.Size
    private let numbers: [String: Int]
    /// The number of places of each image. The terminal gets the bytes once for each place.
    private let placeCounts: [Int]
    /// The sources of images that are alone in a paragraph.
    private let alone: Set<String>
    /// Whether the document can be redrawn in place.
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
        var placeCounts: [Int] = []
        let output = renderer.render(styled) { image in
            let number = numbers[image.source] ?? images.count
            if number == images.count {
                numbers[image.source] = number
                images.append(image)
                placeCounts.append(0)
            }
            placeCounts[number] += 1
            return nil
        }
        (self.images, self.numbers, self.placeCounts) = (images, numbers, placeCounts)
        alone = Self.sourcesAlone(in: styled)
        nextID = firstID &+ UInt32(truncatingIfNeeded: placeCounts.reduce(0, +))
        text = output.isEmpty ? "" : output + "\n"
        // A line that is wider than the terminal takes several rows.
        let rows = text.utf8.count { $0 == UInt8(ascii: "\n") }
        isInPlace = rows < size.rows && renderer.width <= size.columns
        if isInPlace { lines = Self.lines(of: output) }
    }

    /// The maximum size of an image. It leaves rows for the description and the prompt.
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
            } else if loadedImage.columnsInLine == nil || alone.contains(images[number].source) {
                below[number] = loadedImage
            }
        }
        guard isInPlace else { return end() }
        let before = lines
        lines = rendered(with: inText)
        let same = zip(before, lines).prefix { $0 == $1 }.count
        guard same < max(before.count, lines.count) else { return "" }
        // Erasing text doesn't remove kitty's images.
        let removals = before[same...].flatMap(Self.imageIDs).map { "\u{1B}_Ga=d,d=I,i=\($0),q=2\u{1B}\\" }
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
        var bytes = 0
        for (number, image) in light {
            bytes += image.bytes.count * placeCounts[number]
            light[number]?.bytes = [0]
        }
        guard bytes <= Self.maximumOutput else { return false }
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

    /// Returns the terminal's identifiers of the images that begin in this line. Only the first piece of an image has one.
    private static func imageIDs(in line: Substring) -> [UInt32] {
        var ids: [UInt32] = []
        var rest = line
        while let start = rest.afterEscape("_") {
            rest = rest[start...]
            let control = rest.utf8.dropFirst().prefix { $0 != UInt8(ascii: ";") }
            ids += control.split(separator: UInt8(ascii: ",")).compactMap { key in
                key.starts(with: "i=".utf8) ? UInt32(Substring(key.dropFirst(2))) : nil
            }
        }
        return ids
    }

    /// Returns the sources of images that are the only text of their blocks, outside of tables.
    private static func sourcesAlone(in styled: StyledText) -> Set<String> {
        var sources: Set<String> = []
        for (index, run) in styled.runs.enumerated() {
            let isFirst = index == 0 || styled.runs[index - 1].block != run.block
            let isLast = index + 1 == styled.runs.count || styled.runs[index + 1].block != run.block
            if case .tableCell = styled.blocks[run.block].kind { continue }
            if isFirst, isLast, let image = run.image { sources.insert(styled.images[image].source) }
        }
        return sources
    }
}

// MARK: - Writing

/// Text with images for a terminal, split into pieces, so that an image can be left out without damaging the text around it.
///
/// A terminal treats everything after an unfinished escape sequence, including the next prompt, as part of that sequence. So writing must
/// stop between two pieces, or write ``closing`` after an unfinished image.
struct ImageOutput: Sendable, Hashable {
    enum Piece: Sendable, Hashable {
        case text(Substring)
        /// Shows one image, and leaves the cursor where it was.
        case loadedImage(Substring)
    }

    private(set) var pieces: [Piece] = []

    init(_ output: String) {
        var rest = output[...]
        // Each image is between DECSC and DECRC, which the renderer uses for nothing else.
        while let start = rest.afterEscape("7") {
            let end = rest[start...].afterEscape("8").map { rest.utf8.index($0, offsetBy: -2) } ?? rest.endIndex
            pieces += [.text(rest[..<start]), .loadedImage(rest[start..<end])]
            rest = rest[end...]
        }
        if !rest.isEmpty { pieces.append(.text(rest)) }
    }

    /// Ends an unfinished image: the control string (ST, ECMA-48, section 8.3.143), kitty's transfer, and the style.
    static let closing = "\u{1B}\\\u{1B}_Gq=2,m=0;\u{1B}\\\u{1B}[0m"
}

extension Console {
    /// Writes all of the text, but images only while the task isn't cancelled.
    func write(_ output: ImageOutput) async {
        for piece in output.pieces {
            switch piece {
            case .text(let text): await writeWhole(String(text), to: .output)
            case .loadedImage(let commands):
                guard !Task.isCancelled else { continue }
                await write(String(commands), to: .output)
                if Task.isCancelled { await writeWhole(ImageOutput.closing, to: .output) }
            }
        }
    }
}

extension Substring {
    /// Returns the index after the first pair of ESC and this character.
    func afterEscape(_ character: Unicode.Scalar) -> Index? {
        var rest = utf8[...]
        while let escape = rest.firstIndex(of: 0x1B) {
            rest = rest[escape...].dropFirst()
            if let next = rest.first, UInt32(next) == character.value { return rest.dropFirst().startIndex }
        }
        return nil
    }
}
