import Foundation
import SluiceFiles
import Testing

/// Finds the lines in a different way: from the whole text, byte by byte.
private func expectedLines(_ text: [UInt8], _ endings: LineEndings) -> [String] {
    var text = text[...]
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    var isOpen = false
    while let byte = text.popFirst() {
        switch (byte, endings) {
        case (10, _):
            lines.append(line); line = []; isOpen = false
        case (13, .newline) where text.first == 10, (13, .newlineOrReturn):
            if text.first == 10 { text.removeFirst() }
            lines.append(line); line = []; isOpen = false
        default:
            line.append(byte); isOpen = true
        }
    }
    if isOpen { lines.append(line) }
    return lines.map { String(decoding: $0, as: UTF8.self) }
}

/// Returns the lines of text that arrives in these pieces.
private func split(
    _ pieces: [[UInt8]], _ endings: LineEndings, _ invalid: InvalidUTF8 = .repaired, limit: Int = 1000
) throws -> [String] {
    var splitter = LineSplitter(endings: endings, limit: limit)
    var lines: [String] = []
    for piece in pieces {
        splitter.append(Data(piece))
        while let line = try splitter.next(invalid) { lines.append(line) }
    }
    splitter.end()
    while let line = try splitter.next(invalid) { lines.append(line) }
    return lines
}

/// A sequence of given chunks.
private struct Pieces: AsyncSequence {
    var pieces: [Data]
    var error: (any Error)?

    struct Iterator: AsyncIteratorProtocol {
        var pieces: [Data]
        var error: (any Error)?
        mutating func next() async throws -> Data? {
            if pieces.isEmpty, let error { throw error }
            return pieces.isEmpty ? nil : pieces.removeFirst()
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: pieces, error: error) }
}

@Suite(.timeLimit(.minutes(15))) struct Lines {
    private static let kinds: [LineEndings] = [.newline, .newlineOrReturn]

    // MARK: The same lines, however the text is cut

    @Test(arguments: kinds)
    func `every short text, cut in every way, has the same lines as the whole`(endings: LineEndings) throws {
        // A letter, both bytes of line endings, a sequence of two bytes, and a byte that never occurs in UTF-8.
        let alphabet: [UInt8] = [UInt8(ascii: "a"), 10, 13, 0xC3, 0xA4, 0xFF]
        func texts(_ length: Int, _ alphabet: [UInt8]) -> [[UInt8]] {
            length == 0 ? [[]] : texts(length - 1, alphabet).flatMap { text in alphabet.map { text + [$0] } }
        }
        for length in 0...6 {
            for text in texts(length, length > 4 ? Array(alphabet.prefix(3)) : alphabet) {
                let expected = expectedLines(text, endings)
                for cuts in 0..<(1 << max(0, length - 1)) {
                    // Runs a hundred thousand times. `#expect` takes microseconds even if it succeeds.
                    let found = try split(Self.cut(text, cuts), endings)
                    if found != expected { Issue.record("\(text) cut at \(cuts): \(found)") }
                }
            }
        }
    }

    @Test(arguments: kinds)
    func `a text with a byte order mark, cut in every way, has the same lines as the whole`(endings: LineEndings) throws
    {
        for rest in ["", "\n", "\r", "\r\n", "ä", "a\n", "\n\n", "a\r\nb"] {
            for mark in [[0xEF], [0xEF, 0xBB], [0xEF, 0xBB, 0xBF], [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF]] as [[UInt8]] {
                let text = mark + Array(rest.utf8)
                let expected = expectedLines(text, endings)
                for cuts in 0..<(1 << (text.count - 1)) {
                    #expect(try split(Self.cut(text, cuts), endings) == expected, "\(text) cut at \(cuts)")
                }
            }
        }
    }

    @Test(arguments: kinds) func `random texts, cut at random, have the same lines as the whole`(endings: LineEndings)
        throws
    {
        var random = SystemRandomNumberGenerator()
        let words: [[UInt8]] = [
            [10], [13], [13, 10], [10, 13], Array("ä€😀".utf8), Array("word ".utf8), [0xE2, 0x82], [0xF0, 0x9F],
            [UInt8](repeating: 65, count: 200), [0], [0xEF, 0xBB, 0xBF], [0xE2, 0x80, 0xA8],
        ]
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0..<40)).flatMap { _ in words.randomElement()! }
            var pieces: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let count = Int.random(in: 0...min(rest.count, 300), using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            let limit = 20_000
            #expect(try split(pieces, endings, limit: limit) == expectedLines(text, endings), "\(pieces)")
        }
    }

    /// Cuts text wherever a bit is set.
    private static func cut(_ text: [UInt8], _ cuts: Int) -> [[UInt8]] {
        var pieces: [[UInt8]] = [[]]
        for (index, byte) in text.enumerated() {
            pieces[pieces.count - 1].append(byte)
            if cuts & (1 << index) != 0 { pieces.append([]) }
        }
        return pieces
    }

    // MARK: The limit

    @Test(arguments: kinds) func `a line may have as many bytes as the limit, however it is cut and ended`(
        endings: LineEndings
    ) throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        for limit in 0...4 {
            for length in 0...6 {
                for ending in ["", "\n", "\r\n", "\r"] where !(ending == "" && length == 0) {
                    for prefix in [[], mark] {
                        let line = prefix + [UInt8](repeating: 65, count: length) + Array(ending.utf8)
                        // If only newlines end lines, a CR at the end of the text is part of the line.
                        let isLong = length + (ending == "\r" && endings == .newline ? 1 : 0) > limit
                        for cuts in 0..<(1 << (line.count - 1)) {
                            let pieces = Self.cut(line, cuts)
                            // Runs ten thousand times, as above.
                            let isRefused: Bool
                            do {
                                _ = try split(pieces, endings, .refused, limit: limit)
                                isRefused = false
                            } catch is LineError {
                                isRefused = true
                            }
                            if isRefused != isLong { Issue.record("\(pieces) with limit \(limit)") }
                        }
                    }
                }
            }
        }
    }

    @Test func `a line without an end is an error before more than the limit is stored`() throws {
        var splitter = LineSplitter(endings: .newline, limit: 1000)
        splitter.append(Data("one\ntwo\n".utf8))
        #expect(try splitter.next(.refused) == "one")
        #expect(try splitter.next(.refused) == "two")
        #expect(try splitter.next(.refused) == nil)
        var chunks = 0
        let error = #expect(throws: LineError.self) {
            while true {
                splitter.append(Data(repeating: 65, count: 400))
                chunks += 1
                _ = try splitter.next(.refused)
            }
        }
        #expect(chunks == 3)
        #expect(error?.code == .tooLong && "\(error!.code)" == "tooLong" && error?.line == 3 && error?.offset == 8)
        #expect(error?.message == "Line 3 (at byte 8) is too long." && error?.subject == "Line 3 (at byte 8)")
        #expect(error?.localizedDescription == error?.description)
        #expect("\(error!)".hasPrefix("Line 3 (at byte 8) is too long. Raise maximumLength, which is 1000 bytes, or"))
    }

    // MARK: UTF-8

    @Test func `invalid UTF-8 is an error that names the line, or is replaced`() throws {
        let text = Array("ä\r\n€\n".utf8) + [0x61, 0xFF, 0x62, 10] + Array("z".utf8)
        let error = #expect(throws: LineError.self) { try split([text], .newline, .refused) }
        #expect(error?.code == .invalidUTF8 && error?.line == 3 && error?.offset == 8)
        #expect(try split([text], .newline, .repaired) == ["ä", "€", "a\u{FFFD}b", "z"])
        #expect(throws: LineError.self, "also at the end") { try split([[0x61, 0xC3]], .newline, .refused) }
    }

    @Test func `line separators of Unicode don't end a line`() throws {
        #expect(try split([Array("a\u{2028}b\u{85}c\u{0B}d".utf8)], .newlineOrReturn, .refused).count == 1)
    }

    // MARK: As a sequence

    @Test func `a file has the same lines for any size of chunks`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            let lines = (0..<500).map { "line \($0) äöü😀 \(String(repeating: "x", count: $0 % 70))" }
            try Data("\u{FEFF}\(lines.joined(separator: "\r\n"))".utf8).write(to: url)
            for size in [1, 7, 100, 1 << 20] {
                var found: [String] = []
                for try await line in url.chunks(of: size, using: io).lines() { found.append(line) }
                #expect(found == lines)
            }
            let stream = try await url.openForReading(using: io)
            var count = 0
            for try await line in stream.chunks().lines(endingWith: .newlineOrReturn) { count += line.isEmpty ? 0 : 1 }
            #expect(count == 500)
        }
    }

    @Test func `an error is thrown after the lines before it and ends the iteration`() async throws {
        struct Broken: Error {}
        var iterator = Pieces(pieces: [Data("a\nb\nc".utf8)], error: Broken()).lines().makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        #expect(try await iterator.next() == "b")
        await #expect(throws: Broken.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil, "the piece of a line is not a line")

        var second = Pieces(pieces: [Data("a\n".utf8), Data([0xFF, 10, 65, 10])]).lines().makeAsyncIterator()
        #expect(try await second.next() == "a")
        await #expect(throws: LineError.self) { try await second.next() }
        #expect(try await second.next() == nil)
    }

    @Test func `leaving a loop over lines closes the file`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try Data(String(repeating: "line\n", count: 10_000).utf8).write(to: url)
            for try await line in url.chunks(of: 100, using: io).lines() {
                #expect(line == "line")
                break
            }
            var iterator = url.chunks(of: 100, using: io).lines(maximumLength: 3).makeAsyncIterator()
            await #expect(throws: LineError.self) { try await iterator.next() }
            try await io.waitForStatistics { $0.openCount == 0 }
            #expect(try await iterator.next() == nil, "it still exists")
        }
    }

    @Test func `chunks that are slices are read from their start`() async throws {
        let data = Data("xxxxone\ntwoyyyy".utf8)
        var lines: [String] = []
        for try await line in Pieces(pieces: [data[4..<9], data[9..<11]]).lines() { lines.append(line) }
        #expect(lines == ["one", "two"])
    }
}
