import SluiceDownloads
#if Cairo
import NativeMark
import NativeMarkCairo
import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Draws a document as a PDF, a PNG or an SVG, and writes it.
struct DrawDocument {
    let options: ShowCommand
    let console: Console

    /// The width of a picture without pages, in points.
    private static let usualWidth = 640

    func run(_ text: StyledText, title: String) async throws -> ExitStatus {
        // Mistakes in options are reported before images are fetched.
        _ = try setup()
        var drawing = CairoDrawing(text)
        drawing.title = title
        drawing.images = try await images(of: text)
        if options.isPaged, options.format != .pdf, options.page == nil {
            try await writePages(drawing)
        } else {
            try await write(try draw(drawing))
        }
        await reportMissingCharacters(of: drawing.engine)
        return .success
    }

    // MARK: Drawing

    private func setup() throws -> PageSetup {
        var setup = PageSetup()
        if let paper = options.paper {
            guard let size = PageSetup.Paper(paper) else {
                throw usage(
                    "--paper \(paper): This isn't a paper size. Write a3, a4, a5, letter, legal, or a width and a height such as "
                        + "150x200mm.")
            }
            setup.paper = size
        }
        if let margin = options.margin {
            guard let points = PageSetup.points(margin) else {
                throw usage("--margin \(margin): This isn't a length. Write one such as 20mm, 0.75in or 54pt.")
            }
            setup.margin = points
        }
        return setup
    }

    private func draw(_ drawing: CairoDrawing) throws -> [UInt8] {
        let setup = try setup()
        let scale = options.scale ?? 1
        do {
            if options.format == .pdf { return try drawing.pdf(setup) }
            if let number = options.page {
                var last = 0
                for page in try drawing.pages(setup) {
                    last = page.number
                    if last == number {
                        return try options.format == .png ? page.png(scale: scale) : Array(page.svg().utf8)
                    }
                }
                throw usage("--page \(number): The document has only \(Format.count(last, "page")).")
            }
            let width = Double(options.width ?? Self.usualWidth)
            let margin = options.margin == nil ? 24 : setup.margin
            return try options.format == .png
                ? drawing.png(width: width, margin: margin, scale: scale)
                : Array(drawing.svg(width: width, margin: margin).utf8)
        } catch let error as CairoError {
            throw CommandFailure(.usage, "--to \(options.format.rawValue): \(error)")
        }
    }

    private func writePages(_ drawing: CairoDrawing) async throws {
        let directory = URL(filePath: options.output ?? ".", directoryHint: .isDirectory)
        let setup = try setup()
        do {
            try await FileIO.shared.createDirectory(at: directory)
            for page in try drawing.pages(setup) {
                let bytes = try options.format == .png ? page.png(scale: options.scale ?? 1) : Array(page.svg().utf8)
                let digits = String(page.number)
                let number = String(repeating: "0", count: max(3 - digits.count, 0)) + digits
                let name = "page-\(number).\(options.format.rawValue)"
                try await Data(bytes).asyncWrite(to: directory.appending(path: name))
            }
        } catch let error as CairoError {
            throw CommandFailure(.usage, "--to \(options.format.rawValue): \(error)")
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(error)")
        }
    }

    private func write(_ bytes: [UInt8]) async throws {
        guard let output = options.output, output != "-" else { return await console.write(Data(bytes)) }
        do {
            try await Data(bytes).asyncWrite(to: URL(filePath: output, directoryHint: .notDirectory))
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-o: \(error)")
        }
    }

    private func usage(_ message: String) -> CommandFailure {
        CommandFailure(.usage, "\(message) See 'sluice show --help'.")
    }

    // MARK: Images

    /// Loads and decodes the images. Those that fail are reported in one line, and their descriptions are drawn.
    private func images(of text: StyledText) async throws -> [String: CairoImage] {
        guard !options.noImages else { return [:] }
        let names = Set(text.images.map(\.source)).sorted().filter {
            options.remoteImages || !ImageSource($0, besides: options.file).isRemote
        }
        let arrived = Lock<[Int: Result<[UInt8], ImageLoader.Failure>]>([:])
        let loader = ImageLoader(limits: console.imageLimits, cacheDirectory: console.cacheDirectory) { arrival in
            arrived.withLock { $0[arrival.number] = arrival.result }
        }
        await loader.load(names.map { ImageSource($0, besides: options.file) })
        try Task.checkCancellation()
        var images: [String: CairoImage] = [:]
        var failures: [String] = []
        for (number, result) in arrived.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            do throws(ImageLoader.Failure) {
                let bytes = try result.get()
                do {
                    images[names[number]] = try CairoImage(png: bytes)
                } catch {
                    failures.append("\(ImageSource(names[number], besides: options.file).name): \(error)")
                }
            } catch {
                failures.append(error.line)
            }
        }
        if let first = failures.first {
            let short = TerminalText.truncated(TerminalText.sanitized(first), toWidth: 500, at: .middle)
            await console.report(
                names.count == 1
                    ? "The image couldn't be drawn: \(short)"
                    : "\(failures.count) of \(names.count) images couldn't be drawn. The first: \(short)")
        }
        return images
    }

    private func reportMissingCharacters(of engine: PangoEngine) async {
        let missing = engine.missingCharacters
        guard let first = missing.min() else { return }
        await console.report(
            "No installed font has \(Format.count(missing.count, "character")) of the document, such as \(first). They are drawn as "
                + "boxes. Install a font for the scripts \(engine.missingScripts.joined(separator: ", ")).")
    }
}
#endif
