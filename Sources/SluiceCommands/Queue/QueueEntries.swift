import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The entries of arguments and lists, which can be read several times: a checking pass before the one that uses them.
///
/// Only one line of a regular file is in memory at a time. Other inputs, such as pipes, can be read only once, so they are kept in memory.
struct QueueEntries: Sendable {
    private enum Source: Sendable {
        case entries([GetList.Entry])
        case file(URL, name: String)
        case bytes(Data, name: String)
    }

    private var sources: [Source]

    /// Opens no regular file, and reads others to their end.
    init(urls: [String], lists: [String], files: FileIO = .shared) async throws {
        sources = [.entries(urls.map { GetList.Entry(url: $0, place: "") })]
        for list in lists {
            sources.append(try await Self.source(list, files))
        }
    }

    private static func source(_ list: String, _ files: FileIO) async throws -> Source {
        do {
            let url = URL(filePath: list)
            if list != "-", try await files.status(of: url)?.kind == .file { return .file(url, name: list) }
            let data = try await InputFile.read(list, limit: GetPlan.listLimit, using: files)
            return .bytes(data, name: list == "-" ? "standard input" : list)
        } catch let error as FileError where error.code == .limitExceeded {
            throw CommandFailure(
                .localFile,
                "-i \(list): The list is larger than \(Format.bytes(Int64(GetPlan.listLimit))). Split it, or save it as a file."
            )
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-i \(list): \(error)")
        }
    }

    /// Passes each entry to `body`, in order. Returns the problems of the lists, one line each, at most `limit` of them and the number of
    /// the others.
    ///
    /// - Throws: ``CommandFailure`` if a list can't be read; the error of `body`.
    func read(
        problemLimit limit: Int, _ body: (GetList.Entry) async throws -> String?
    ) async throws -> (problems: [String], hidden: Int) {
        var (problems, hidden) = ([String](), 0)
        func note(_ line: String) {
            if problems.count < limit { problems.append(line) } else { hidden += 1 }
        }
        for source in sources {
            switch source {
            case .entries(let entries):
                for entry in entries { if let problem = try await body(entry) { note(problem) } }
            case .file(let url, let name): try await read(url.chunks(), name, note, body)
            case .bytes(let data, let name): try await read(Once(data: data), name, note, body)
            }
        }
        return (problems, hidden)
    }

    private func read(
        _ chunks: some AsyncSequence<Data, any Error>, _ name: String, _ note: (String) -> Void,
        _ body: (GetList.Entry) async throws -> String?
    ) async throws {
        var reader = GetList.Reader(name: name)
        do {
            for try await line in chunks.lines() {
                let entry = reader.read(Substring(line).utf8)
                for problem in reader.takeProblems() { note(problem) }
                if let entry, let problem = try await body(entry) { note(problem) }
            }
        } catch let error as LineError {
            let problem =
                error.code == .invalidUTF8 ? "isn't UTF-8 text. Save the list as UTF-8." : "is too long. Split it."
            throw CommandFailure(.usage, "\(name):\(error.line): The line \(problem)")
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-i \(name): \(error)")
        }
        if let entry = reader.finish(), let problem = try await body(entry) { note(problem) }
    }

    /// A sequence of one chunk.
    private struct Once: AsyncSequence {
        typealias Failure = any Error

        var data: Data

        func makeAsyncIterator() -> Iterator { Iterator(data: data) }

        struct Iterator: AsyncIteratorProtocol {
            var data: Data?

            mutating func next() async throws -> Data? { data.take() }
        }
    }
}
