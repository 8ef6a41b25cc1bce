import HTTPTypes
import NativeMark
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The lines of `--trace` and `--verbose`: the head of each request and response, and how long they took.
///
/// ```text
/// 0.001 #1 > GET http://127.0.0.1:8000/song.mp3
/// 0.001 #1 > User-Agent: sluice/0.2.0
/// 0.004 #1 < 200 OK
/// 0.004 #1 < Content-Length: 3400000
/// 0.096 #1 = complete after 95.2 ms: name 0.1 ms, connection 0.3 ms, first byte 2.6 ms
/// ```
///
/// A line begins with the seconds since the start and the number of the exchange. Several exchanges may run concurrently.
final class Trace: Sendable {
    /// The maximum number of steps that wait for a slow disk: several for each of 1,024 concurrent exchanges.
    private static let waitingLimit = 16_384

    /// The secrets of each exchange, until it ends: a server may repeat them in the head of its response.
    private let secrets = Lock<[Int: Redaction]>([:])
    private let writer = LineWriter(limit: waitingLimit)
    private let start = ContinuousClock.now

    /// Where the lines go.
    struct Output: Sendable, Equatable {
        /// The path of a file.
        var file: String?
        /// Whether the lines go to standard error, whether or not there is a file.
        var isOnConsole = false

        var isNowhere: Bool { file == nil && !isOnConsole }
    }

    /// Passes a trace to `body`, and writes its lines to `output`. If that is nowhere, `body` gets `nil`.
    ///
    /// - Throws: A ``CommandFailure`` that names the option if the file can't be written; the error of `body`.
    static func recording<R: Sendable>(
        to output: Output, on console: Console, _ body: (Trace?) async throws -> R
    ) async throws -> R {
        if output.isNowhere { return try await body(nil) }
        let trace = Trace()
        let (opened, opening) = Promise<Void, any Error>.makePromise()
        // Not a child task: the remaining lines are written even if the work is cancelled.
        let writing = Task {
            do {
                try await trace.writeAll(to: output, on: console, opening)
            } catch {
                let failure = CommandFailure(.localFile, "--trace: \(error)")
                opening.fail(failure)
                throw failure
            }
        }
        do {
            try await opened.valueUnlessCancelled()
        } catch {
            // Opening a FIFO may still be waiting for a reader.
            writing.cancel()
            throw error
        }
        let result = await Result { try await body(trace) }
        trace.writer.finish()
        try await writing.value
        return try result.get()
    }

    /// Writes lines until the writer is finished. `opening` succeeds when the file is open.
    private func writeAll(
        to output: Output, on console: Console, _ opening: Promise<Void, any Error>.Resolver
    ) async throws {
        guard let path = output.file else {
            opening.succeed(())
            return await write { await console.write($0, to: .error) }
        }
        try await URL(filePath: path, directoryHint: .notDirectory).withFileForWriting { stream in
            opening.succeed(())
            // After a failure the loop continues and drops the lines; otherwise they would pile up in memory.
            var failure: (any Error)?
            await write { text in
                if output.isOnConsole { await console.write(text, to: .error) }
                guard failure == nil else { return }
                do { try await stream.write(Data(text.utf8)) } catch { failure = error }
            }
            if let failure { throw failure }
        }
    }

    private func write(_ write: (String) async -> Void) async {
        await writer.run(
            dropped: { "(left out \(Format.count($0, "step")) because writing is too slow)\n" }, write: write)
    }

    /// Adds the lines of a step. Doesn't block.
    func note(_ event: TransportTrace) { writer.add(text(of: event), .news) }

    func text(of event: TransportTrace) -> String {
        let time = start.duration(to: .now).components
        let milliseconds = "\(1000 + time.attoseconds / 1_000_000_000_000_000)".dropFirst()
        let front = "\(time.seconds).\(milliseconds) #\(event.exchange) "
        let redaction = redaction(for: event)
        return Self.lines(for: event.step).map { front + TerminalText.sanitized(redaction.redacted($0)) + "\n" }
            .joined()
    }

    private func redaction(for event: TransportTrace) -> Redaction {
        secrets.withLock { secrets in
            switch event.step {
            case .sent(let request): secrets[event.exchange] = Redaction(of: request)
            case .answered: break
            case .ended, .failed: return secrets.removeValue(forKey: event.exchange) ?? Redaction()
            }
            return secrets[event.exchange] ?? Redaction()
        }
    }

    private static func lines(for step: TransportTrace.Step) -> [String] {
        switch step {
        case .sent(let request):
            ["> \(request.method.rawValue) \(request.url.redactedForDisplay)"]
                + request.headerFields.map { "> \($0.name.rawName): \($0.redactedInRequest)" }
        case .answered(let head):
            // HTTP/2 has no phrase.
            ["< \(head.status.code)\(head.status.reasonPhrase.isEmpty ? "" : " \(head.status.reasonPhrase)")"]
                + head.headerFields.map { "< \($0.name.rawName): \($0.redactedForDisplay)" }
        case .ended(let timings): ["= complete" + (timings.map(times) ?? "")]
        case .failed(let error as TransferError): ["! \(error)"]
        case .failed(is CancellationError): ["! cancelled"]
        case .failed(let error): ["! \(error)"]
        }
    }

    /// Returns text such as " after 95.2 ms: connection reused, first byte 2.6 ms".
    private static func times(_ timings: TransportTimings) -> String {
        var parts: [String] = []
        if timings.isConnectionReused == true { parts.append("connection reused") }
        if let time = timings.nameLookup { parts.append("name \(Format.milliseconds(time))") }
        if let time = timings.connection { parts.append("connection \(Format.milliseconds(time))") }
        if let time = timings.handshake { parts.append("TLS \(Format.milliseconds(time))") }
        parts.append("first byte \(Format.milliseconds(timings.firstByte))")
        let total = timings.total.map { " after \(Format.milliseconds($0))" } ?? ""
        return "\(total): \(parts.joined(separator: ", "))"
    }
}
