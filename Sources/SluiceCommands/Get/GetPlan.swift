import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The requests of `sluice get`, from its arguments and lists. All are checked before the first download starts.
struct GetPlan: Sendable {
    var requests: [DownloadRequest] = []
    /// What the lists contain that is left out and matters, one line each.
    private(set) var notes: [String] = []

    /// The number of problems that are shown. Any others are only counted.
    private static let shownProblems = 20

    /// Throws a ``CommandFailure`` with the first problems and the number of the others, so that a user can correct many at once.
    init(_ options: GetOptions, files: FileIO = .shared) async throws {
        var entries = options.urls.map { GetList.Entry(url: $0, place: "") }
        var problems: [String] = []
        for list in options.lists {
            let parsed = try await Self.read(list, files)
            entries += parsed.entries
            problems += parsed.problems
            notes += parsed.notes
        }
        /// Changes the entry of the only URL.
        func change(for option: String, instead: String, _ body: (inout GetList.Entry) -> Void) {
            guard entries.count != 1 else { return body(&entries[0]) }
            problems.append(
                "\(option): The option is for one file, but there are \(entries.count) URLs. Use \(instead). See "
                    + "'sluice get --help'.")
        }
        if let name = options.output { change(for: "-o \(name)", instead: "out= in a list (-i)") { $0.name = name } }
        if let checksum = options.checksum {
            change(for: "--checksum", instead: "checksum= in a list (-i), or --checksum-file") {
                $0.checksum = checksum
            }
        }
        if !options.mirrors.isEmpty {
            change(for: "--mirror", instead: "mirror= in a list (-i)") { $0.mirrors += options.mirrors }
        }
        problems += try await add(entries, options, files)
        guard problems.isEmpty else {
            let hidden = problems.count - Self.shownProblems
            let rest = hidden > 0 ? ["… and \(hidden) more problems. Nothing was downloaded."] : []
            throw CommandFailure(.usage, lines: problems.prefix(Self.shownProblems) + rest)
        }
        guard !requests.isEmpty else {
            let names = options.lists.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
            throw CommandFailure(
                .usage, "There is nothing to download: \(names) contains no URL. Pass URLs, or another list with -i.")
        }
    }

    /// Adds the requests of the entries. Returns the problems.
    private mutating func add(
        _ entries: [GetList.Entry], _ options: GetOptions, _ files: FileIO
    ) async throws -> [String] {
        var problems: [String] = []
        requests.reserveCapacity(entries.count)
        var places: [String] = []
        var maker = RequestMaker(
            directory: options.directory, namesFile: options.output != nil, isStored: options.database != nil)
        maker.checksums = try await ChecksumFile.read(options.checksumFiles, using: files)
        for entry in entries {
            if options.takesServerNames, entry.name != nil {
                problems.append(
                    "\(entry.place): A name in a list (out=) and --content-disposition can't be combined. Use only one."
                )
                continue
            }
            do throws(RequestMaker.Problem) {
                requests.append(try maker.request(for: entry))
                places.append(entry.place)
            } catch {
                problems.append(error.line)
            }
        }
        return problems + conflicts(places)
    }

    /// Returns a message for each entry that would be written to the file of an earlier entry.
    private func conflicts(_ places: [String]) -> [String] {
        DownloadRequest.conflicts(in: requests).sorted { $0.key < $1.key }.map { index, other in
            let (request, place) = (requests[index], places[index])
            let otherPlace = places[other].isEmpty ? requests[other].url.redactedForDisplay : places[other]
            let prefix = place.isEmpty ? "" : "\(place): "
            return "\(prefix)\(request.url.redactedForDisplay) and \(otherPlace) would both be written to "
                + "'\(request.target.path(percentEncoded: false))'. Give one of them another name with out= in a list (-i)."
        }
    }

    /// The maximum size of a list in bytes. It is enough for a million long URLs, and stops reading from a device that never ends.
    static let listLimit = 256 << 20

    private static func read(_ list: String, _ files: FileIO) async throws -> GetList {
        let name = list == "-" ? "standard input" : list
        let data: Data
        do {
            data = try await InputFile.read(list, limit: listLimit, using: files)
        } catch let error as FileError where error.code == .limitExceeded {
            throw CommandFailure(
                .localFile, "-i \(list): The list is larger than \(Format.bytes(Int64(listLimit))). Split it.")
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-i \(list): \(error)")
        }
        if Metalink.isXML(data) { return GetList(metalink: data, name: name) }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw CommandFailure(.usage, "-i \(list): The list isn't UTF-8 text. Save it as UTF-8.")
        }
        return GetList(text, name: name)
    }
}
