internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The line endings that a splitter recognizes.
public enum LineEndings: Sendable, Hashable {
    /// LF and CRLF. A CR directly before an LF belongs to the line ending; any other CR belongs to the line.
    case newline
    /// LF, CRLF, and a CR alone, as in text files from old Mac programs and in progress bars.
    case newlineOrReturn
}

/// What to do with bytes that aren't valid UTF-8.
public enum InvalidUTF8: Sendable, Hashable {
    /// Throw a ``LineError``.
    case refused
    /// Replace invalid bytes with U+FFFD (�), as `String(decoding:as:)` does.
    case repaired
}

extension AsyncSequence where Element == Data {
    /// Returns the lines of text that arrives in chunks, without their line endings.
    ///
    ///     for try await line in url.chunks().lines() {
    ///         if line.hasPrefix("error:") { count += 1 }
    ///     }
    ///
    /// The result doesn't depend on where the text is split into chunks, even in the middle of a CRLF or a character. The last line doesn't
    /// need an ending. A byte order mark at the start is skipped. Other Unicode separators (U+0085, U+2028, U+2029) don't end a line.
    ///
    /// Memory is bounded by one chunk and one line: a line of more than `maximumLength` bytes, without its ending, throws
    /// ``LineError/Code/tooLong`` before all of it is in memory. Each byte is searched once (memchr). Each line is copied once, or
    /// twice if it spans chunks.
    ///
    /// - Precondition: `maximumLength` isn't negative.
    /// - Cancellation: Same as for the chunks. Lines from a chunk that is already in memory are returned without a check.
    /// - Failure: An error from the chunks, or a ``LineError``. It is thrown after the lines that precede it, and ends the iteration.
    public func lines(
        endingWith endings: LineEndings = .newline, invalidUTF8: InvalidUTF8 = .refused, maximumLength: Int = 1 << 20
    ) -> ChunkLines<Self> {
        precondition(maximumLength >= 0, "The maximum length must not be negative; it is \(maximumLength).")
        return ChunkLines(base: self, endings: endings, invalidUTF8: invalidUTF8, limit: maximumLength)
    }
}

/// The lines of text that arrives in chunks. See `AsyncSequence.lines(endingWith:invalidUTF8:maximumLength:)`.
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

// MARK: - Errors

/// An error about a line of text. See `AsyncSequence.lines(endingWith:invalidUTF8:maximumLength:)`.
///
///     do {
///         for try await line in url.chunks().lines() { … }
///     } catch let error as LineError where error.code == .tooLong {
///         print(error)   // Line 7 (at byte 4096) is too long. Raise maximumLength, which is 1048576 bytes, or …
///     }
public struct LineError: Error, Sendable, Hashable {
    /// The kinds of failure. Later versions may add kinds, so write a `default` in a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, such as "tooLong".
        public let description: String
        fileprivate let predicate: String

        /// The line has more bytes than the caller's `maximumLength`.
        public static let tooLong = Code(description: "tooLong", predicate: "is too long")
        /// The bytes of the line aren't valid UTF-8.
        public static let invalidUTF8 = Code(description: "invalidUTF8", predicate: "isn't UTF-8")
    }

    /// The kind of failure.
    public var code: Code

    /// The number of the line, from 1.
    public var line: Int

    /// The offset of the line's first byte in the text, starting at 0.
    public var offset: Int64

    /// What to do, as one sentence.
    public var remedy: String

    /// Creates an error.
    public init(code: Code, line: Int, offset: Int64, remedy: String) {
        self.code = code
        self.line = line
        self.offset = offset
        self.remedy = remedy
    }
}

extension LineError: CustomStringConvertible {
    /// The message and the remedy.
    public var description: String { "\(message) \(remedy)" }

    /// The line and its offset.
    public var subject: String { "Line \(line) (at byte \(offset))" }

    /// What happened, as one sentence.
    public var message: String { "\(subject) \(code.predicate)." }
}

extension LineError: LocalizedError {
    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The message.
    public var failureReason: String? { message }

    /// The remedy.
    public var recoverySuggestion: String? { remedy }
}

// MARK: - Splitting

/// Splits text that arrives in chunks into lines. A pure value.
///
///     splitter.append(chunk)
///     while let line = try splitter.next(.refused) { … }             // nil: append the next chunk, or end
///
/// Line endings are ASCII, and no byte of a multibyte UTF-8 sequence is. So lines can be found before they are decoded.
package struct LineSplitter {
    private let endings: LineEndings
    private let limit: Int

    private var chunk = Data()
    private var position = 0
    private var partial: [UInt8] = []
    /// Whether the last line ended with a CR, so that an LF at the next position belongs to it.
    private var skipsLineFeed = false
    private var isAtEnd = false

    /// The positions of the next LF and CR in the chunk, or the chunk's count. They are cached: if the text has only one of the two,
    /// each line would otherwise search the whole chunk for the other.
    private var lineFeed = -1
    private var carriageReturn = -1

    /// For errors: the number of bytes before the chunk, the offset of the line's first byte, and its number.
    private var bytesBefore = 0
    private var start = 0
    private var number = 1

    package init(endings: LineEndings, limit: Int) {
        self.endings = endings
        self.limit = limit
    }

    // MARK: Input

    /// Takes the next chunk, after `next` has returned `nil`.
    package mutating func append(_ data: Data) {
        precondition(position == chunk.count && !isAtEnd, "A chunk may be appended only after next() has returned nil.")
        bytesBefore += chunk.count
        chunk = data
        position = 0
        lineFeed = -1
        carriageReturn = -1
    }

    package mutating func end() { isAtEnd = true }

    package mutating func discard() {
        forget()
        isAtEnd = true
    }

    private mutating func forget() {
        chunk = Data()
        position = 0
        partial = []
    }

    // MARK: Lines

    /// Returns the next line, or `nil` if it needs more input. Throws a `LineError`.
    package mutating func next(_ invalidUTF8: InvalidUTF8) throws -> String? {
        let chunk = chunk
        return try chunk.withUnsafeBytes { try next(in: $0, invalidUTF8) }
    }

    private mutating func next(
        in bytes: UnsafeRawBufferPointer, _ invalidUTF8: InvalidUTF8
    ) throws -> String? {
        if skipsLineFeed, position < bytes.count {
            skipsLineFeed = false
            if bytes[position] == Self.lf { position += 1 }
            start = bytesBefore + position
        }
        guard let ending = nextEnding(in: bytes) else {
            try keep(UnsafeRawBufferPointer(rebasing: bytes[position...]))
            position = bytes.count
            guard isAtEnd, !partial.isEmpty else { return nil }
            defer { partial = [] }
            let line = try partial.withUnsafeBytes { [self] bytes in
                try decode(withoutMark(bytes), invalidUTF8)
            }
            // Text that consists only of a byte order mark has no lines.
            return line.isEmpty ? nil : line
        }
        let piece = UnsafeRawBufferPointer(rebasing: bytes[position..<ending])
        let line: String
        if partial.isEmpty {
            line = try decode(content(piece), invalidUTF8)
        } else {
            partial.append(contentsOf: piece)
            line = try partial.withUnsafeBytes { [self] whole in
                try decode(content(whole), invalidUTF8)
            }
            partial.removeAll(keepingCapacity: true)
        }
        position = ending + 1
        skipsLineFeed = bytes[ending] == Self.cr
        start = bytesBefore + position
        number += 1
        return line
    }

    private mutating func nextEnding(in bytes: UnsafeRawBufferPointer) -> Int? {
        if lineFeed < position { lineFeed = Self.search(Self.lf, in: bytes, from: position) }
        guard endings == .newlineOrReturn else { return lineFeed < bytes.count ? lineFeed : nil }
        if carriageReturn < position { carriageReturn = Self.search(Self.cr, in: bytes, from: position) }
        let first = min(lineFeed, carriageReturn)
        return first < bytes.count ? first : nil
    }

    /// Keeps the start of a line whose ending hasn't arrived, unless it is too long already.
    private mutating func keep(_ piece: UnsafeRawBufferPointer) throws {
        guard !piece.isEmpty else { return }
        // A byte order mark and the CR of a CRLF don't count, nor do bytes that may turn out to be the start of a mark.
        var uncounted = 0
        if endings == .newline, piece.last == Self.cr { uncounted += 1 }
        if number == 1 {
            let first = (partial.prefix(3) + piece.prefix(3 - min(3, partial.count)))
            if first.elementsEqual(Self.mark.prefix(first.count)) { uncounted += first.count }
        }
        if partial.count + piece.count - uncounted > limit { throw tooLong }
        partial.append(contentsOf: piece)
    }

    private func content(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var bytes = bytes
        if endings == .newline, bytes.last == Self.cr { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropLast()) }
        return withoutMark(bytes)
    }

    private func withoutMark(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard number == 1, bytes.starts(with: Self.mark) else { return bytes }
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Self.mark.count))
    }

    private func decode(_ bytes: UnsafeRawBufferPointer, _ invalid: InvalidUTF8) throws -> String {
        if bytes.count > limit { throw tooLong }
        let units = bytes.assumingMemoryBound(to: UInt8.self)
        switch invalid {
        case .repaired: return String(decoding: units, as: UTF8.self)
        case .refused:
            if let line = String(validating: units, as: UTF8.self) { return line }
            throw LineError(
                code: .invalidUTF8, line: number, offset: Int64(start),
                remedy: "Convert the text to UTF-8, or read it with 'invalidUTF8: .repaired'.")
        }
    }

    private var tooLong: LineError {
        LineError(
            code: .tooLong, line: number, offset: Int64(start),
            remedy: "Raise maximumLength, which is \(limit) bytes, or read the text in chunks.")
    }

    private static func search(_ byte: UInt8, in bytes: UnsafeRawBufferPointer, from position: Int) -> Int {
        guard position < bytes.count, let base = bytes.baseAddress else { return bytes.count }
        guard let found = memchr(base + position, CInt(byte), bytes.count - position) else { return bytes.count }
        return UnsafeRawPointer(found) - base
    }

    private static let lf = UInt8(ascii: "\n")
    private static let cr = UInt8(ascii: "\r")
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
}
