import NativeMark
import SluiceConcurrency
import SluiceFiles
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Shows a document while it arrives on a pipe, a socket or a terminal.
///
/// One task reads the input. This task takes what it has read, together with signals and the times at which to draw, from one queue, so
/// that nothing happens at once. If the output is slow, the queue fills and the reading waits.
struct ShowStream: Sendable {
    /// The time from the first byte that isn't shown to the next drawing. A text that has ended by then is shown as if it were in a file.
    static let delay = Duration.milliseconds(25)
    private static let partSize = 8 << 10

    enum Outcome {
        /// The input ended before anything was shown.
        case read(Data)
        case shown(ExitStatus)
    }

    private enum Event: Sendable {
        case bytes(Data)
        case ended(FileError?)
        /// Look at ``Changes``.
        case terminalChanged
    }

    /// What has happened to the terminal since the last drawing.
    private struct Changes {
        var isResized = false
        /// Whether other programs may have written to it.
        var isDisplaced = false
    }

    let descriptor: CInt
    /// The name of the input in errors.
    let name: String
    /// The maximum size of the document.
    let limit: Int
    let console: Console
    /// Returns the size of the screen on which the open block is drawn, or `nil` for none, and the renderer for it.
    let screen: @Sendable () -> (size: Console.Size?, renderer: TerminalRenderer)
    let makeTerminal: @Sendable (TerminalRenderer) -> TerminalStream

    /// Shows the document, and returns when the input has ended or nothing reads the output anymore.
    ///
    /// - Throws: `FileError`, for example if the input is longer than the limit; `CancellationError`.
    func run() async throws -> Outcome {
        let events = AsyncBoundedQueue<Event>(capacity: 4)
        let changes = Lock(Changes())
        let note: @Sendable (@Sendable (inout Changes) -> Void) -> Void = { change in
            changes.withLock { change(&$0) }
            // If the queue is full, the changes are noticed with the next element.
            _ = events.trySend(.terminalChanged)
        }
        // Echoed input would move the cursor.
        let isDrawn = screen().size != nil
        let echo = Lock(isDrawn ? console.silenceInput() : nil)
        let restore: @Sendable () -> Void = { echo.withLock { $0.take() }?() }
        defer { restore() }
        let responses = Interruption.Responses(
            leaveTerminal: restore,
            returnToTerminal: {
                if isDrawn { echo.withLock { $0 = console.silenceInput() } }
                note { $0.isDisplaced = true }
            },
            resized: { note { $0.isResized = true } })
        return try await console.interruption.responding(responses) {
            do {
                return try await withThrowingTaskGroup(of: Void.self) { group in
                    defer { group.cancelAll() }
                    group.addTask { try await read(into: events) }
                    return try await show(events, changes)
                }
            } catch  where Task.isCancelled {
                // Ctrl-C makes the terminal drop pending output, even in the middle of a sequence.
                if console.outputSize() != nil { await console.writeWhole(ImageOutput.closing, to: .output) }
                throw CancellationError()
            }
        }
    }

    private func show(_ events: AsyncBoundedQueue<Event>, _ changes: borrowing Lock<Changes>) async throws -> Outcome {
        var text: StreamedText?
        var unshown = Data()
        var due: ContinuousClock.Instant?
        while true {
            switch try await next(events, until: due) {
            case .bytes(let bytes):
                unshown += bytes
                due = due ?? .now + Self.delay
            case .ended(let error):
                let isShown = text != nil
                // Rendering an open block of that size could take all memory.
                if let error, error.code == .limitExceeded { throw error }
                if var shown = text.take() {
                    await write(unshown, of: &shown)
                    await console.write(shown.finish(), to: .output)
                }
                if let error { throw error }
                return isShown ? .shown(.success) : .read(unshown)
            case .terminalChanged, nil: break
            }
            let change = changes.withLock { changes in
                defer { changes = Changes() }
                return changes
            }
            // Looks at the time, because the queue of a fast writer is never empty.
            let isDue = due.map { $0 <= .now } ?? false
            guard isDue || change.isResized || change.isDisplaced else { continue }
            if change.isDisplaced { text?.forgetDrawing() }
            let (size, renderer) = screen()
            text?.resize(to: size, width: renderer.width)
            if isDue {
                var shown = text ?? StreamedText(terminal: makeTerminal(renderer), screen: size)
                text = nil  // Otherwise, appending would copy the text.
                await write(unshown, of: &shown)
                text = shown
                (unshown, due) = (Data(), nil)
            }
            if let output = text?.draw(), !output.isEmpty { await console.write(output, to: .output) }
            // Without a reader, the rest of the input is of no use, and it may be endless.
            if console.losses.isLost(.output) { return .shown(.success) }
        }
    }

    /// Appends bytes and writes the blocks that end in them. Does it in parts: the first blocks of a large input don't wait for the last, and if
    /// nothing reads the output, the rest isn't rendered.
    private func write(_ bytes: Data, of text: inout StreamedText) async {
        var rest = bytes[...]
        while !rest.isEmpty, !console.losses.isLost(.output), !Task.isCancelled {
            text.append(rest.prefix(Self.partSize))
            rest = rest.dropFirst(Self.partSize)
            guard !rest.isEmpty else { return }
            await console.write(text.draw(), to: .output)
        }
    }

    /// Returns the next event, or `nil` when it is time to draw.
    private func next(_ events: AsyncBoundedQueue<Event>, until due: ContinuousClock.Instant?) async throws -> Event? {
        guard let due else { return try await events.dequeue() }
        do {
            return try await events.dequeue(until: due, clock: .continuous)
        } catch is DeadlineExceeded {
            return nil
        }
    }

    private func read(into events: AsyncBoundedQueue<Event>) async throws {
        do {
            var left = limit
            for try await bytes in FileIO.shared.chunks(descriptor: descriptor, name: name) {
                left -= bytes.count
                guard left >= 0 else {
                    throw FileError(
                        .limitExceeded, subject: name, message: "\(name): It has more than \(limit) bytes.",
                        remedy: "Show less of it.")
                }
                _ = try await events.send(.bytes(bytes))
            }
            _ = try await events.send(.ended(nil))
        } catch let error as FileError where error.code != .cancelled {
            _ = try await events.send(.ended(error))
        }
    }
}
