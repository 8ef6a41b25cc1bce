// A release build has no access to what isn't public.
#if DEBUG
import Foundation
import HTTPTypes

@testable import SluiceCommands
@testable import SluiceDownloads
@testable import SluiceHTTP
@testable import SluiceServer

/// A parser of bytes from servers, users or other programs, and what must hold for everything that it accepts.
///
/// `Scripts/checks/fuzz.py` looks for inputs that break a rule. Those that reach other code than the rest are kept in `Tests/Corpora`, and
/// tests run them.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case list, metalink, contentDisposition, contentRange, date, digests, cookies, configuration, netrc, words, url
    case records, request

    /// The input broke a rule. Fuzzers notice programs that end.
    private static func expect(_ condition: Bool, _ rule: String) {
        if !condition { fatalError("The input breaks a rule: \(rule)") }
    }

    /// Parses the bytes, and ends the program if the result breaks a rule.
    public func run(_ bytes: [UInt8]) {
        switch self {
        case .list: Self.readList(bytes)
        case .metalink: Self.readMetalink(bytes)
        case .contentDisposition:
            let name = SafeFileName.suggested(byContentDisposition: Self.field(bytes))
            Self.expect(name.map(SafeFileName.isSafe) ?? true, "a suggested name is safe")
        case .contentRange: Self.readContentRange(bytes)
        case .date: Self.readDate(bytes)
        case .digests: Self.readDigests(bytes)
        case .cookies: Self.readCookies(bytes)
        case .configuration: Self.readConfiguration(bytes)
        case .netrc: Self.readNetrc(bytes)
        case .words: Self.readWords(bytes)
        case .url: Self.readURL(bytes)
        case .records: Self.readRecords(bytes)
        case .request: Self.readRequests(bytes)
        }
    }

    /// A field's value as a transport passes it on: bytes that aren't UTF-8 become U+FFFD.
    private static func field(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Requests

    /// Where a request ends must not depend on how its bytes arrive: a proxy in front of the server might see another end.
    private static func readRequests(_ bytes: [UInt8]) {
        func read(inPiecesOf size: Int) -> [String] {
            var parser = RequestParser(limits: .init(targetSize: 64, headSize: 256, fieldCount: 8, bodySize: 64))
            var seen: [String] = []
            var rest = bytes[...]
            do {
                while true {
                    switch try parser.next() {
                    case .request(let request):
                        expect(request.body.count <= 64 && request.target.utf8.count <= 64, "the limits hold")
                        seen.append("\(request)")
                    case .awaitsContinue: break
                    case .needsBytes:
                        if rest.isEmpty { return seen }
                        parser.append(rest.prefix(size))
                        rest = rest.dropFirst(size)
                    }
                }
            } catch {
                return seen + ["refused"]
            }
        }
        let whole = read(inPiecesOf: .max)
        expect(read(inPiecesOf: 1) == whole, "requests are the same in single bytes")
        expect(read(inPiecesOf: 7) == whole, "requests are the same in pieces")
    }

    // MARK: Lists

    private static func readList(_ bytes: [UInt8]) {
        guard !Metalink.isXML(bytes), let text = String(validating: bytes, as: UTF8.self) else { return }
        let list = GetList(text, name: "list")
        let lines = bytes.count { $0 == 0x0A } + 1
        expect(list.entries.count <= lines, "each entry has a line of its own")
        expect(list.problems.allSatisfy { $0.hasPrefix("list:") }, "each problem names its line")
        var reader = GetList.Reader(name: "list")
        var entries: [GetList.Entry] = []
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let line = Substring(String(decoding: line, as: UTF8.self))
            if let entry = reader.read(line.utf8) { entries.append(entry) }
        }
        if let entry = reader.finish() { entries.append(entry) }
        expect(entries == list.entries, "a list is the same when it is read line by line")
        for relative in [RequestMaker.Relative.makeAbsolute, .keep] {
            var maker = RequestMaker(directory: "music", relative: relative)
            for entry in list.entries {
                guard let request = try? maker.request(for: entry) else { continue }
                check(request)
                expect(
                    relative == .makeAbsolute || entry.directory?.hasPrefix("/") == true || request.isRelative,
                    "a relative directory stays relative")
                expect(!entry.headers.contains { $0.contains("\r") || $0.contains("\n") }, "a header field is one line")
            }
        }
    }

    private static func check(_ request: DownloadRequest) {
        expect(SafeFileName.isSafe(request.name), "a name is safe")
        expect(["http", "https"].contains(request.url.scheme?.lowercased()), "a URL can be fetched")
        expect(request.url.addressForTransport != nil, "a URL has an address")
        expect(request.target.lastPathComponent == request.name, "the target has the name")
        guard let stored = request.storedMirrors else { return expect(request.mirrors.isEmpty, "mirrors are stored") }
        let lines = stored.split(separator: "\n", omittingEmptySubsequences: false)
        expect(lines.map { URL(string: String($0)) } == request.mirrors, "mirrors are the same when they were stored")
    }

    private static func readMetalink(_ bytes: [UInt8]) {
        readXML(bytes)
        guard let metalink = try? Metalink(parsing: Data(bytes)) else { return }
        expect(!metalink.files.isEmpty, "a Metalink has a file")
        for file in metalink.files {
            expect(SafeFileName.isSafe(file.name) && DownloadRequest.isSafePath(file.path), "a name is safe")
            expect((1...Metalink.maximumURLs).contains(file.urls.count), "a file has URLs, and not too many")
            expect(Set(file.urls).count == file.urls.count, "no URL comes twice")
            expect(file.size ?? 0 >= 0, "a size isn't negative")
        }
        let base = URL(filePath: "/music/", directoryHint: .isDirectory)
        for request in metalink.requests(to: base) {
            check(request)
            let path = request.target.standardizedFileURL.path(percentEncoded: false)
            expect(path.hasPrefix("/music/"), "a file is in the directory")
        }
        expect(
            Set(metalink.requests(to: base).map(\.target)).count == metalink.files.count,
            "each file has a name of its own")
    }

    private static func readXML(_ bytes: [UInt8]) {
        guard var reader = try? XMLReader(bytes) else { return }
        var depth = 0
        var size = 0
        while let event = try? reader.next() {
            switch event {
            case .start(let element):
                depth += 1
                size += element.name.local.utf8.count + element.attributes.reduce(0) { $0 + $1.value.utf8.count }
            case .text(let text): size += text.utf8.count
            case .end: depth -= 1
            }
            expect((0...32).contains(depth), "elements are nested, and not too deep")
        }
        expect(size <= bytes.count, "nothing expands")
    }

    // MARK: Fields

    private static func readContentRange(_ bytes: [UInt8]) {
        switch ContentRange(field(bytes)) {
        case nil: break
        case .unsatisfied(let total): expect(total >= 0, "a length isn't negative")
        case .part(let first, let last, let total):
            expect(first >= 0 && first <= last && last < .max, "a range has bytes, and its length doesn't overflow")
            expect(total.map { last < $0 } ?? true, "a range is within the file")
        }
    }

    private static func readDate(_ bytes: [UInt8]) {
        let now = HTTPDate(secondsSince1970: 1_795_000_000)
        guard let date = HTTPDate(parsing: field(bytes), now: now) else { return }
        // A leap second can be after the last year that is written.
        guard date.secondsSince1970 <= HTTPDate.seconds.upperBound else { return }
        expect(HTTPDate(parsing: date.description, now: now) == date, "a date is the same when it is written and read")
    }

    private static func readDigests(_ bytes: [UInt8]) {
        let text = field(bytes)
        for checksum in Checksum.inField(text) + [Checksum(text)].compactMap({ $0 }) {
            expect(checksum.bytes.count == checksum.algorithm.byteCount, "a checksum has its length")
            expect(Checksum(checksum.description) == checksum, "a checksum is the same when it is written and read")
        }
        guard let list = try? ChecksumList(text) else { return }
        for name in list.names { expect(!name.isEmpty && list[name] != nil, "each name of a list has a checksum") }
        expect(list.count == list.names.count, "each name comes once")
    }

    // MARK: Files

    private static func readCookies(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), let jar = try? CookieJar(netscape: text) else {
            return
        }
        let written = jar.netscapeText
        let again = try? CookieJar(netscape: written)
        expect(again != nil, "what a jar writes can be read")
        expect(again?.netscapeText == written, "cookies are the same when they are written and read")
    }

    private static func readConfiguration(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self),
            let file = try? ConfigurationFile(text, path: "config")
        else { return }
        for line in file.lines {
            expect(CommandOptions.ofAllCommands[line.option] == (line.value != nil), "an option is known")
            expect(line.value?.utf8.contains(0) != true, "a value has no zero byte")
            expect(line.value?.contains(where: \.isNewline) != true, "a value is in one line")
        }
        let arguments = file.applied(to: ["get", "http://a.example/"]).arguments
        expect(
            arguments.first == "get" && arguments.last == "http://a.example/", "the arguments stay around the file's")
    }

    private static func readNetrc(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let credentials = try? ServerCredentials(netrc: text) else { return }
        for url in ["http://a.example/", "https://b.example:8080/"] {
            guard let found = credentials.credential(for: URL(string: url)!) else { continue }
            expect(text.contains("login") || found.user.isEmpty, "a user comes from the file")
        }
    }

    private static func readWords(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), let words = try? ShellWords(text) else { return }
        expect(!words.words.isEmpty, "a command has a program")
        expect(words.words.allSatisfy { !$0.utf8.contains(0) }, "a word has no zero byte")
        let quoted = words.words.map { "'\($0.replacing("'", with: #"'\''"#))'" }.joined(separator: " ")
        expect((try? ShellWords(quoted))?.words == words.words, "words are the same when they are quoted and read")
    }

    private static func readURL(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(URLRefusal) {
            let url = try URL(fetchable: text)
            check(DownloadRequest(url, to: URL(filePath: "/music/", directoryHint: .isDirectory)))
            expect((try? URL(fetchable: url.absoluteString)) == url, "a URL is the same when it is written and read")
            expect(
                !url.redactedForDisplay.contains("@") || url.path(percentEncoded: true).contains("@"),
                "no user is shown")
            expect(!url.canonicalHostAndPort.isEmpty, "a URL has a host")
        } catch {
            expect(!error.message.isEmpty, "a refusal has a reason")
        }
    }

    private static func readRecords(_ bytes: [UInt8]) {
        let records = DownloadRecord.read(Data(bytes), notBefore: 0)
        for (name, record) in records {
            expect(SafeFileName.isSafe(name), "a name is safe")
            let again = DownloadRecord.read(Data(record.lines(of: name)), notBefore: 0)
            var expected = record
            // A validator that a header field can't have isn't written.
            expected.file?.validator = again[name]?.file?.validator
            expect(
                again == [name: expected] || record.file == nil && !record.isBegun,
                "a record is the same when it is written and read")
        }
        if let checkpoint = Checkpoint(Data(bytes)) {
            expect(Checkpoint(checkpoint.data) == checkpoint, "a checkpoint is the same when it is written and read")
            expect(Checkpoint.isCheckpoint(Data(bytes)), "a checkpoint is recognized")
        }
    }
}
#endif
