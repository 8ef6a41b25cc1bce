import NativeMark
import SluiceCache
import SluiceConcurrency

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Loads the images of a document after its text is written, and shows each one when it arrives.
struct ShowImages: Sendable {
    var document: String
    var fetches: Bool
    var images: TerminalRenderer.ImageProtocol
    var cell: Console.CellSize
    var console: Console

    /// The largest width and height in pixels: larger than all screens, and the limit of some terminals.
    private static let largestSide = 10_000

    private var formats: ShownFormats { ShownFormats(images) }

    private struct Wanted: Sendable {
        var number: Int
        var source: ImageSource
    }

    private struct Outcome: Sendable {
        var failures: [Int: String] = [:]
        var missing: Set<Int>
        var waiting = 0
    }

    /// Shows the images of the document. Failures are reported in one line and don't change the status.
    func run(_ screen: ImageScreen) async -> ExitStatus {
        // Without --remote-images, images on servers don't count as missing: the text has their addresses.
        let wanted = screen.images.enumerated().map { number, image in
            Wanted(number: number, source: ImageSource(image.source, besides: document))
        }.filter { fetches || !$0.source.isRemote }.map { wanted in
            guard let refusal = formats.refusal(of: wanted.source) else { return wanted }
            return Wanted(number: wanted.number, source: .refused(refusal))
        }
        guard !wanted.isEmpty else { return .success }

        // Echoed input would move the cursor.
        let restore = console.silenceInput()
        let leave: @Sendable () -> Void = {
            console.emit(ImageOutput.closing, .output)
            restore?()
        }
        let outcome = await console.interruption.responding(
            .init(leaveTerminal: leave, returnToTerminal: { _ = console.silenceInput() })
        ) {
            await show(wanted, screen)
        }
        // Ctrl-C makes the terminal drop pending output, even in the middle of a sequence.
        if Task.isCancelled { await console.writeWhole(ImageOutput.closing, to: .output) }
        restore?()

        let missing = outcome.failures.count + outcome.missing.count + outcome.waiting
        if Task.isCancelled, missing > 0 {
            await console.report("Interrupted: \(missing) of \(wanted.count) images aren't shown.")
            return .interrupted
        }
        if let first = outcome.failures.min(by: { $0.key < $1.key })?.value {
            let one = "The image couldn't be shown: "
            let many = "\(missing) of \(wanted.count) images couldn't be shown. The first: "
            // An address may be as long as the document.
            let short = TerminalText.truncated(TerminalText.sanitized(first), toWidth: 500, at: .middle)
            await console.report((wanted.count == 1 ? one : many) + short)
        }
        return .success
    }

    private func show(_ wanted: [Wanted], _ screen: ImageScreen) async -> Outcome {
        var screen = screen
        var outcome = Outcome(missing: Set(wanted.indices))
        let arrivals = AsyncQueue<ImageLoader.Arrival>()
        let loader = ImageLoader(limits: console.imageLimits, cacheDirectory: console.cacheDirectory) {
            arrivals.enqueue($0)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await loader.load(wanted.map(\.source))
                arrivals.finish()
            }
            for await first in arrivals.elements {
                var loadedImages: [ImageScreen.Numbered] = []
                // All images that have arrived are drawn together.
                for arrival in [first] + arrivals.removeAll() where outcome.missing.remove(arrival.number) != nil {
                    let wanted = wanted[arrival.number]
                    do throws(ImageLoader.Failure) {
                        let loadedImage = try loadedImage(
                            try arrival.result.get(), of: wanted.source, room: screen.room)
                        loadedImages.append((wanted.number, loadedImage))
                    } catch {
                        outcome.failures[arrival.number] = error.line
                    }
                }
                await console.write(ImageOutput(screen.add(loadedImages, on: console.outputSize())))
                if Task.isCancelled { outcome.waiting = loadedImages.count }
            }
        }
        if Task.isCancelled {
            outcome.waiting = max(outcome.waiting, screen.waiting)
        } else {
            await console.write(ImageOutput(screen.end()))
        }
        return outcome
    }

    /// Returns the image with the size at which it is shown. Throws if the terminal can't show it.
    private func loadedImage(
        _ bytes: [UInt8], of source: ImageSource, room: (columns: Int, rows: Int)
    ) throws(ImageLoader.Failure) -> TerminalRenderer.Image {
        let header = ImageHeader(bytes)
        if let refusal = formats.refusal(of: header, of: source) { throw .init(line: refusal) }
        guard let size = header?.shownSize(by: images), max(size.width, size.height) <= Self.largestSide else {
            throw .init(line: "\(source.name) is wider or higher than \(Self.largestSide) pixels. Make it smaller.")
        }
        let (columns, rows) = ImageHeader.cells(for: size, of: cell, columns: room.columns, rows: room.rows)
        let columnsInLine = ImageHeader.columnsInLine(for: size, of: cell, columns: room.columns)
        return TerminalRenderer.Image(bytes: bytes, columns: columns, rows: rows, columnsInLine: columnsInLine)
    }
}

// MARK: - Formats

/// The image formats that a terminal decodes, and what the user can do with images in other formats.
///
/// Images aren't converted, because a decoder is a lot of code to run on untrusted input. So is a program such as magick.
private struct ShownFormats: Sendable {
    private let formats: [ImageHeader.Format]

    init(_ images: TerminalRenderer.ImageProtocol) {
        formats = images == .kitty ? [.png] : [.png, .jpeg, .gif, .webP]
    }

    /// Returns one line that says why the image isn't shown; `nil` if the terminal decodes it.
    func refusal(of header: ImageHeader?, of source: ImageSource) -> String? {
        guard let format = header?.format else {
            return "\(source.name) isn't a \(names(joined: "or")) image. \(remedy(for: source))"
        }
        return formats.contains(format) ? nil : refusal(of: format.rawValue, source)
    }

    /// Returns one line if the name of an image on a server shows that the terminal can't decode it, so that it needn't be fetched;
    /// otherwise `nil`.
    func refusal(of source: ImageSource) -> String? {
        guard case .remote(let url) = source, let format = Self.formats[url.pathExtension.lowercased()],
            !formats.contains(where: { $0.rawValue == format })
        else { return nil }
        return refusal(of: format, source)
    }

    private func refusal(of format: String, _ source: ImageSource) -> String {
        let article = ["AVIF", "SVG"].contains(format) ? "an" : "a"
        return "\(source.name) is \(article) \(format) image, but this terminal shows only \(names(joined: "and")). "
            + remedy(for: source)
    }

    /// Suggests a command only for names that need no quotes in a shell.
    private func remedy(for source: ImageSource) -> String {
        guard case .local(let file) = source else { return "Open it in a browser." }
        let name = file.lastPathComponent
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        let stem = file.deletingPathExtension().lastPathComponent
        guard isPlain, !stem.hasPrefix("-"), name != stem + ".png" else {
            return "Convert it to PNG, or open it in another program."
        }
        return "Convert it with 'magick \(name) \(stem).png', or open it in another program."
    }

    /// `PNG, JPEG, GIF and WebP`.
    private func names(joined word: String) -> String {
        let names = formats.map(\.rawValue)
        return names.count == 1
            ? names[0] : "\(names.dropLast().joined(separator: ", ")) \(word) \(names[names.count - 1])"
    }

    /// The formats by their usual extensions. PNG is missing, because all terminals with images decode it.
    private static let formats = [
        "jpg": "JPEG", "jpeg": "JPEG", "jpe": "JPEG", "jfif": "JPEG", "gif": "GIF", "webp": "WebP", "avif": "AVIF",
        "bmp": "BMP", "svg": "SVG", "svgz": "SVG", "tif": "TIFF", "tiff": "TIFF", "heic": "HEIC", "pdf": "PDF",
    ]
}

// MARK: - Sizes

extension ImageHeader {
    /// Returns the size in pixels at which a terminal shows the image.
    ///
    /// iTerm2 decodes images with AppKit, which applies the orientation; its documentation says nothing about it. WezTerm (20240203)
    /// doesn't apply it: there, such a photo lies on its side and doesn't fill its cells. The terminals with kitty's protocol decode PNG
    /// without metadata.
    func shownSize(by images: TerminalRenderer.ImageProtocol) -> (width: Int, height: Int) {
        images == .iTerm2 ? orientedSize : (width, height)
    }

    /// Returns the cells of an image with this size in pixels. The image is scaled down if it doesn't fit, but covers at least one cell.
    static func cells(
        for size: (width: Int, height: Int), of cell: Console.CellSize, columns: Int, rows: Int
    ) -> (columns: Int, rows: Int) {
        let wanted = (
            columns: Double(size.width) / Double(max(cell.width, 1)),
            rows: Double(size.height) / Double(max(cell.height, 1))
        )
        let scale = min(1, Double(columns) / wanted.columns, Double(rows) / wanted.rows)
        func fitted(_ length: Double, _ limit: Int) -> Int {
            max(min(Int((length * scale).rounded()), limit), 1)
        }
        return (fitted(wanted.columns, columns), fitted(wanted.rows, rows))
    }

    /// Returns the columns that an image takes when it is scaled to a height of one row; `nil` if the image is higher than two rows or
    /// wouldn't fit into a line. Badges are 20 pixels high, which is one or two rows.
    static func columnsInLine(
        for size: (width: Int, height: Int), of cell: Console.CellSize, columns: Int
    ) -> Int? {
        guard size.height > 0, size.height <= 2 * cell.height else { return nil }
        let wanted = Double(size.width) / Double(size.height) * Double(cell.height) / Double(max(cell.width, 1))
        let fitted = max(Int(wanted.rounded()), 1)
        return fitted <= columns ? fitted : nil
    }
}
