import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What `sluice get` downloads, made of arguments and lists, and checked as a whole before anything begins.
struct GetPlan: Sendable {
    var requests: [DownloadRequest] = []

    /// How many problems are shown before the rest is only counted.
    private static let shownProblems = 20

    /// Reads the lists and checks every entry.
    ///
    /// - Throws: ``CommandFailure``: all problems, so that a list is corrected in one go.
    init(_ options: GetOptions, files: FileIO = .shared) async throws {
        var entries = options.urls.map { GetList.Entry(url: $0, place: "") }
        var problems: [String] = []
        for list in options.lists {
            let parsed = GetList(try await Self.read(list, files), name: list == "-" ? "standard input" : list)
            entries += parsed.entries
            problems += parsed.problems
        }
        if let name = options.output {
            if name == "-" {
                problems.append("-o -: writing to standard output is not supported; give the file a name")
            } else if entries.count == 1 {
                entries[0].name = name
            } else {
                problems.append("-o \(name): names one file, but there are \(entries.count) URLs; use out= in a list")
            }
        }
        problems += add(entries, folder: options.directory, outputOption: options.output)
        guard problems.isEmpty else {
            let hidden = problems.count - Self.shownProblems
            let rest = hidden > 0 ? ["… and \(hidden) more problems; nothing was downloaded"] : []
            throw CommandFailure(.usage, lines: problems.prefix(Self.shownProblems) + rest)
        }
        guard !requests.isEmpty else {
            let names = options.lists.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
            throw CommandFailure(.usage, "nothing to download: \(names) lists no URL")
        }
    }

    /// Turns entries into requests; returns what is wrong with them.
    private mutating func add(_ entries: [GetList.Entry], folder: String, outputOption: String?) -> [String] {
        var problems: [String] = []
        requests.reserveCapacity(entries.count)
        var places: [String] = []
        var folders: [String: URL] = [:]
        for entry in entries {
            let prefix = entry.place.isEmpty ? "" : "\(entry.place): "
            do throws(URLRefusal) {
                let url = try URL(fetchable: entry.url)
                if let name = entry.name, !SafeFileName.isSafe(name) {
                    let option = outputOption == nil ? "out=\(name)" : "-o \(name)"
                    let folderOption = outputOption == nil ? "dir=" : "-d"
                    problems.append(
                        "\(prefix)\(option): not a plain file name; leave out folders, leading dots and control "
                            + "characters, and choose the folder with \(folderOption)")
                    continue
                }
                let path = entry.folder ?? folder
                let folder = folders[path] ?? Self.folder(path)
                folders[path] = folder
                requests.append(DownloadRequest(url, to: folder, name: entry.name, user: entry.user))
                places.append(entry.place)
            } catch {
                problems.append("\(prefix)\(error)")
            }
        }
        return problems + conflicts(places)
    }

    /// Entries that would be written to one file, with the places where they stand.
    private func conflicts(_ places: [String]) -> [String] {
        DownloadRequest.conflicts(in: requests).sorted { $0.key < $1.key }.map { index, other in
            let (request, place) = (requests[index], places[index])
            let otherPlace = places[other].isEmpty ? requests[other].url.redactedForDisplay : places[other]
            let prefix = place.isEmpty ? "" : "\(place): "
            return "\(prefix)\(request.url.redactedForDisplay) and \(otherPlace) would both be written to "
                + "'\(request.target.path(percentEncoded: false))'; give one of them another name with out= in a list"
        }
    }

    /// The folder as an absolute URL without `.` and `..`, so that one folder has one URL.
    private static func folder(_ path: String) -> URL {
        URL(filePath: path.isEmpty ? "." : path, directoryHint: .isDirectory).absoluteURL.standardizedFileURL
    }

    /// A list of a million long URLs fits; a device that never ends does not.
    private static let listLimit = 256 << 20

    private static func read(_ list: String, _ files: FileIO) async throws -> String {
        let data: Data
        do {
            data = try await InputFile.read(list, limit: listLimit, using: files)
        } catch let error as FileError where error.code == .limitExceeded {
            throw CommandFailure(
                .localFile, "-i \(list): the list has more than \(Format.bytes(Int64(listLimit))); split it")
        } catch let error as FileError {
            throw CommandFailure(.localFile, "-i \(list): \(error)")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw CommandFailure(.usage, "-i \(list): the list is not text in UTF-8; save it as UTF-8")
        }
        return text
    }
}
