import NativeMark
import SluiceConcurrency

/// Loads the pictures of a document whose text is on the screen already, and shows each when it is there.
struct ShowPictures: Sendable {
    /// The name of the document's file.
    var document: String
    /// Whether pictures on servers are fetched.
    var fetches: Bool
    var images: TerminalRenderer.ImageProtocol
    var cell: Console.CellSize
    var console: Console

    /// More than any screen has, and some terminals take.
    private static let largestSide = 10_000

    /// A picture that is to be loaded, and its number on the screen.
    private struct Wanted: Sendable {
        var number: Int
        var source: PictureSource
    }

    /// What came of it, by the order of the document.
    private struct Outcome: Sendable {
        var failures: [Int: String] = [:]
        var missing: Set<Int>
        /// Those that were there and had their turn no more.
        var waiting = 0
    }

    /// Returns when the last picture is shown or has failed. What failed is told in one line, and is no failure of the command.
    func run(_ screen: PictureScreen) async -> ExitStatus {
        // Those on servers have failed nobody who did not ask for them: their descriptions say where they are.
        let wanted = screen.images.enumerated().map { number, image in
            Wanted(number: number, source: PictureSource(image.source, besides: document))
        }.filter { fetches || !$0.source.isRemote }
        guard !wanted.isEmpty else { return .success }

        // What is typed meanwhile would move the cursor.
        let restore = console.silenceInput()
        let leave: @Sendable () -> Void = {
            console.emit(PictureOutput.closing, .output)
            restore?()
        }
        let outcome = await console.interruption.responding(
            .init(leaveTerminal: leave, returnToTerminal: { _ = console.silenceInput() })
        ) {
            await show(wanted, screen)
        }
        // The terminal drops what it has not shown yet when Ctrl-C is pressed, in the middle of a sequence too.
        if Task.isCancelled { await console.writeWhole(PictureOutput.closing, to: .output) }
        restore?()

        let missing = outcome.failures.count + outcome.missing.count + outcome.waiting
        if Task.isCancelled, missing > 0 {
            await console.report("interrupted; \(missing) of \(wanted.count) pictures are not shown")
            return .interrupted
        }
        if let first = outcome.failures.min(by: { $0.key < $1.key })?.value {
            let one = "the picture could not be shown: "
            let many = "\(missing) of \(wanted.count) pictures could not be shown; the first: "
            // An address may be as long as the document.
            let short = TerminalText.truncated(TerminalText.sanitized(first), toWidth: 500, at: .middle)
            await console.report((wanted.count == 1 ? one : many) + short)
        }
        return .success
    }

    private func show(_ wanted: [Wanted], _ screen: PictureScreen) async -> Outcome {
        var screen = screen
        var outcome = Outcome(missing: Set(wanted.indices))
        let arrivals = AsyncQueue<PictureLoader.Arrival>()
        let loader = PictureLoader(limits: console.imageLimits, cacheFolder: console.cacheFolder) {
            arrivals.enqueue($0)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await loader.load(wanted.map(\.source))
                arrivals.finish()
            }
            for await first in arrivals.elements {
                var pictures: [PictureScreen.Numbered] = []
                // All that are there by now at once.
                for arrival in [first] + arrivals.removeAll() where outcome.missing.remove(arrival.number) != nil {
                    let wanted = wanted[arrival.number]
                    do throws(PictureLoader.Failure) {
                        let picture = try picture(try arrival.result.get(), of: wanted.source, room: screen.room)
                        pictures.append((wanted.number, picture))
                    } catch {
                        outcome.failures[arrival.number] = error.line
                    }
                }
                await console.write(PictureOutput(screen.add(pictures, on: console.outputSize())))
                if Task.isCancelled { outcome.waiting = pictures.count }
            }
        }
        if Task.isCancelled {
            outcome.waiting = max(outcome.waiting, screen.waiting)
        } else {
            await console.write(PictureOutput(screen.end()))
        }
        return outcome
    }

    /// A picture with its place, if it is one that the terminal shows.
    private func picture(
        _ bytes: [UInt8], of source: PictureSource, room: (columns: Int, rows: Int)
    ) throws(PictureLoader.Failure) -> TerminalRenderer.Image {
        guard let header = PictureHeader(bytes) else {
            throw .init(line: "\(source.name) is no PNG, JPEG, GIF or WebP; convert it to one of them")
        }
        guard max(header.width, header.height) <= Self.largestSide else {
            throw .init(line: "\(source.name) is wider or higher than \(Self.largestSide) pixels; make it smaller")
        }
        guard images != .kitty || header.format == .png else {
            throw .init(
                line: "\(source.name) is a \(header.format.rawValue), and this terminal shows PNG only; convert it")
        }
        let (columns, rows) = header.cells(of: cell, columns: room.columns, rows: room.rows)
        return TerminalRenderer.Image(bytes: bytes, columns: columns, rows: rows)
    }
}
