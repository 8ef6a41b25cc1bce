#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The line endings that a splitter recognizes.
public enum LineEndings: Sendable, Hashable {
    /// LF and CRLF. A CR directly before an LF belongs to the line ending; any other CR belongs to the line.
    case newline
    /// LF, CRLF, and a CR alone, as in the text files of old Mac programs and in progress bars.
    case newlineOrReturn
}

/// What to do with bytes that aren't valid UTF-8.
public enum InvalidUTF8: Sendable, Hashable {
    /// Throw a ``LineError``.
    case refused
    /// Replace invalid bytes by U+FFFD (�), as `String(decoding:as:)` does.
    case repaired
}

extension AsyncSequence where Element == Data {
    /// Returns the lines of a text that arrives in chunks, without their line endings.
    ///
    ///     for try await line in url.chunks().lines() {
    ///         if line.hasPrefix("error:") { count += 1 }
    ///     }
    ///
    /// The result doesn't depend on how the text is divided into chunks, even within a CRLF or a character. The last line doesn't
    /// need an ending. A byte order mark at the start is skipped. Other Unicode separators (U+0085, U+2028, U+2029) don't end a
    /// line.
    ///
    /// Memory is bounded by one chunk and one line: a line of more than `maximumLength` bytes, without its ending, throws
    /// ``LineError/Code/tooLong`` before all of it is in memory. Each byte is searched once (memchr). Each line is copied once, or
    /// twice if it spans chunks.
    ///
    /// - Cancellation: That of the chunks. Lines of a chunk that is in memory are returned without a check.
    /// - Failure: An error of the chunks, or a ``LineError``. It is thrown after the lines before it, and ends the iteration.
    public func lines(
        endingWith endings: LineEndings = .newline, invalidUTF8: InvalidUTF8 = .refused, maximumLength: Int = 1 << 20
    ) -> ChunkLines<Self> {
        precondition(maximumLength >= 0, "The maximum length must not be negative; it is \(maximumLength).")
        return ChunkLines(base: self, endings: endings, invalidUTF8: invalidUTF8, limit: maximumLength)
    }
}

/// The lines of a text that arrives in chunks. See `AsyncSequence.lines(endingWith:invalidUTF8:maximumLength:)`.
public struct ChunkLines<Base: AsyncSequence>: AsyncSequence where Base.Element == Data {
    let base: Base
    let endings: LineEndings
    let invalidUTF8: InvalidUTF8
    let limit: Int

    /// Starts an iteration of the chunks.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            base: base.makeAsyncIterator(), splitter: LineSplitter(endings: endings, limit: limit),
            invalidUTF8: invalidUTF8)
    }

    /// An iterator over the lines.
    public struct Iterator: AsyncIteratorProtocol {
        // Nil at the end, so that the source of the chunks is released.
        var base: Base.AsyncIterator?
        var splitter: LineSplitter
        let invalidUTF8: InvalidUTF8

        /// Returns the next line, or `nil` after the last one.
        public mutating func next() async throws -> String? {
            try await next(isolation: #isolation)
        }

        /// Returns the next line, or `nil` after the last one. Suspends on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            while true {
                do {
                    if let line = try splitter.next(invalidUTF8) { return line }
                    if base == nil { return nil }
                    if let chunk = try await base?.next(isolation: actor) {
                        splitter.append(chunk)
                    } else {
                        base = nil
                        splitter.end()
                    }
                } catch {
                    base = nil
                    splitter.discard()
                    throw error
                }
            }
        }
    }
}

extension ChunkLines: Sendable where Base: Sendable {}
