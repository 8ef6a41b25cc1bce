import NativeMark
import SluiceCache
import SluiceConcurrency

/// Loads the images of a document after its text was written, and shows each when it arrives.
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

    /// Failures are reported in one line and don't change the status.
    func run(_ screen: ImageScreen) async -> ExitStatus {
        // Without --remote-images, images on servers aren't missing: the text has their addresses.
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
            let one = "The image could not be shown: "
            let many = "\(missing) of \(wanted.count) images could not be shown. The first: "
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

    /// Throws if the terminal can't show the image.
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
