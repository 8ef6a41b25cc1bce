#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What ends a line.
public enum LineEndings: Sendable, Hashable {
    /// LF, and CRLF: a CR before the LF does not belong to the line. A CR anywhere else does.
    case newline
    /// LF, CRLF, and a CR alone, as in texts of old Mac programs and in progress bars.
    case newlineOrReturn
}

/// What becomes of bytes that are not UTF-8.
public enum InvalidUTF8: Sendable, Hashable {
    /// The line is an error.
    case refused
    /// U+FFFD (�) takes their place, as with `String(decoding:as:)`.
    case repaired
}

extension AsyncSequence where Element == Data {
    /// The lines of a text that comes in chunks, without what ends them.
    ///
    ///     for try await line in url.chunks().lines() {
    ///         if line.hasPrefix("error:") { count += 1 }
    ///     }
    ///
    /// Where the text is cut into chunks makes no difference, also within a CRLF or a character. The last line need not end
    /// with a newline; after a newline at the end there is no further line. A byte order mark at the start is left out.
    /// Other separators of Unicode (U+0085, U+2028, U+2029) are parts of lines.
    ///
    /// Memory is bounded by one chunk and one line. Searching costs one pass over the bytes (memchr), and each line is
    /// copied once, or twice where it goes over the end of a chunk.
    ///
    /// - Cancellation: that of the chunks. The lines of a chunk that is there do not look for it.
    /// - Failure: what the chunks throw, or a ``LineError``, after the lines before it; then the iteration is over.
    ///
    /// - Parameters:
    ///   - endings: What ends a line.
    ///   - invalidUTF8: Whether bytes that are not UTF-8 are an error, or are replaced.
    ///   - limit: The most bytes of a line, less its ending. A longer one is ``LineError/Code/tooLong``, before more of it is
    ///     kept: without a limit, a file without newlines would be held in memory whole.
    public func lines(
        endingWith endings: LineEndings = .newline, invalidUTF8: InvalidUTF8 = .refused, limit: Int = 1 << 20
    ) -> ChunkLines<Self> {
        precondition(limit >= 0, "A limit is not negative.")
        return ChunkLines(base: self, endings: endings, invalidUTF8: invalidUTF8, limit: limit)
    }
}

/// The lines of a text that comes in chunks: see `AsyncSequence.lines(endingWith:invalidUTF8:limit:)`.
public struct ChunkLines<Base: AsyncSequence>: AsyncSequence where Base.Element == Data {
    let base: Base
    let endings: LineEndings
    let invalidUTF8: InvalidUTF8
    let limit: Int

    /// Begins an iteration of the chunks.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            base: base.makeAsyncIterator(), splitter: LineSplitter(endings: endings, limit: limit),
            invalidUTF8: invalidUTF8)
    }

    /// Gives one line after the other.
    public struct Iterator: AsyncIteratorProtocol {
        // Nil once it is over, so that what it reads from is let go.
        var base: Base.AsyncIterator?
        var splitter: LineSplitter
        let invalidUTF8: InvalidUTF8

        /// The next line, nil after the last.
        public mutating func next() async throws -> String? {
            try await next(isolation: #isolation)
        }

        /// The next line, nil after the last. Suspends on the caller's actor.
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
