import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes checked requests from the entries of arguments and lists.
struct RequestMaker {
    struct Problem: Error {
        /// One line, with the entry's place.
        var line: String
    }

    /// What relative directories are relative to.
    enum Relative {
        /// The current directory.
        case makeAbsolute
        /// The directory of the worker.
        case keep
    }

    private enum Directory {
        case absolute(URL)
        case relative(String)
    }

    /// The directory for entries that don't name one.
    let directory: String
    let relative: Relative
    /// Whether `-o` names the file, for messages.
    var namesFile = false
    /// Whether a queue stores the requests, which therefore can't have header fields.
    var isStored = false
    /// The checksums of files that have no own one.
    var checksums: [ChecksumFile] = []
    private var directories: [String: Directory] = [:]

    init(
        directory: String, relative: Relative = .makeAbsolute, namesFile: Bool = false,
        isStored: Bool = false, checksums: [ChecksumFile] = []
    ) {
        self.directory = directory
        self.relative = relative
        self.namesFile = namesFile
        self.isStored = isStored
        self.checksums = checksums
    }

    mutating func request(for entry: GetList.Entry) throws(Problem) -> DownloadRequest {
        var request = try requestWithoutChecksum(for: entry)
        let prefix = entry.place.isEmpty ? "" : "\(entry.place): "
        request.headerFields = try fields(of: entry)
        request.mirrors = try mirrors(of: entry)
        if let text = entry.checksum {
            guard let checksum = Checksum(text) else {
                let option = entry.place.isEmpty ? "--checksum" : "checksum="
                throw Problem(
                    line: "\(prefix)\(option): Write sha256: or sha512: and the hexadecimal digits of the checksum.")
            }
            request.checksum = checksum
        } else if !checksums.isEmpty {
            let name = request.name
            request.checksum = checksums.lazy.compactMap { $0.list[name] }.first
            guard request.checksum != nil else {
                let files = checksums.map(\.name).joined(separator: ", ")
                throw Problem(
                    line: "\(prefix)--checksum-file: The file '\(name)' isn't in \(files). Check its name, or leave "
                        + "out the option.")
            }
        }
        return request
    }

    private func mirrors(of entry: GetList.Entry) throws(Problem) -> [URL] {
        var mirrors: [URL] = []
        for text in entry.mirrors {
            do throws(URLRefusal) {
                mirrors.append(try URL(fetchable: text))
            } catch {
                throw Problem(line: entry.place.isEmpty ? "--mirror: \(error)" : "\(entry.place): mirror=: \(error)")
            }
        }
        return mirrors
    }

    private func fields(of entry: GetList.Entry) throws(Problem) -> HTTPFields {
        var fields = HTTPFields()
        for header in entry.headers {
            do throws(CommandFailure) {
                fields.append(
                    try RequestOptions.field(header, option: "header=") {
                        CommandFailure(.usage, "\(entry.place): \($0)")
                    })
            } catch {
                throw Problem(line: error.lines[0])
            }
        }
        if let referer = entry.referer {
            guard RequestOptions.isSendable(referer), !referer.isEmpty else {
                throw Problem(line: "\(entry.place): referer=: The URL is empty or has a control character.")
            }
            fields[.referer] = referer
        }
        if isStored, !fields.isEmpty {
            throw Problem(
                line:
                    "\(entry.place): \(entry.headers.isEmpty ? "referer=" : "header="): A queue stores no header fields, which may "
                    + "be secrets. Pass them to 'sluice queue work', or use 'sluice get' without --db.")
        }
        return fields
    }

    private mutating func requestWithoutChecksum(for entry: GetList.Entry) throws(Problem) -> DownloadRequest {
        let prefix = entry.place.isEmpty ? "" : "\(entry.place): "
        let url: URL
        do throws(URLRefusal) {
            url = try URL(fetchable: entry.url)
        } catch {
            throw Problem(line: "\(prefix)\(error)")
        }
        if let name = entry.name, !SafeFileName.isSafe(name) {
            let option = namesFile ? "-o \(name)" : "out=\(name)"
            let directoryOption = namesFile ? "-d" : "dir="
            let help = namesFile ? " See 'sluice get --help'." : ""
            throw Problem(
                line:
                    "\(prefix)\(option): This isn't a plain file name. Leave out directories, leading dots and control "
                    + "characters, and choose the directory with \(directoryOption).\(help)")
        }
        var path = entry.directory ?? directory
        if let below = entry.path { path += (path.isEmpty || path.hasSuffix("/") ? "" : "/") + below }
        do throws(Problem) {
            switch try parent(path, option: entry.directory == nil ? "-d" : "dir=") {
            case .absolute(let parent):
                return DownloadRequest(url, to: parent, name: entry.name, user: entry.user)
            case .relative(let path):
                do throws(FileError) {
                    return try DownloadRequest(url, below: path, name: entry.name, user: entry.user)
                } catch {
                    throw Problem(line: "\(error)")
                }
            }
        } catch {
            throw Problem(line: prefix + error.line)
        }
    }

    /// Checks the directory for entries that don't name one. Otherwise each of these entries would report the same problem.
    mutating func checkDirectory() throws(Problem) { _ = try parent(directory, option: "-d") }

    private mutating func parent(_ path: String, option: String) throws(Problem) -> Directory {
        if let known = directories[path] { return known }
        guard let made = makeDirectory(path) else {
            let separator = option.hasSuffix("=") ? "" : " "
            throw Problem(
                line:
                    "\(option)\(separator)\(path): A relative directory must stay below the worker's directory. "
                    + "Remove '..', leading dots and control characters, or use an absolute directory.")
        }
        directories[path] = made
        return made
    }

    /// Returns a directory in the spelling that the queue uses: without `.`, and without `..` if it is absolute. Returns `nil` for a
    /// relative directory that isn't safe.
    private func makeDirectory(_ path: String) -> Directory? {
        if relative == .makeAbsolute || path.hasPrefix("/") {
            let url = URL(filePath: path.isEmpty ? "." : path, directoryHint: .isDirectory)
            return .absolute(url.absoluteURL.standardizedFileURL)
        }
        let names = path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        return DownloadRequest.isSafePath(names) ? .relative(names) : nil
    }
}

// MARK: - Checksums

/// A list of checksums that `--checksum-file` names.
struct ChecksumFile: Sendable {
    var name: String
    var list: ChecksumList

    private static let maximumSize = 64 << 20

    /// - Throws: ``CommandFailure`` that names the option if a file can't be read or isn't a list.
    static func read(_ names: [String], using files: FileIO = .shared) async throws -> [ChecksumFile] {
        var found: [ChecksumFile] = []
        for name in names {
            do {
                let data = try await InputFile.read(name, limit: maximumSize, using: files)
                guard let text = String(validating: data, as: UTF8.self) else {
                    throw CommandFailure(
                        .usage, "--checksum-file \(name): The list isn't UTF-8 text. Save it as UTF-8.")
                }
                found.append(ChecksumFile(name: name, list: try ChecksumList(text)))
            } catch let error as ChecksumList.Invalid {
                throw CommandFailure(.usage, "--checksum-file \(name): \(error)")
            } catch let error as FileError {
                throw CommandFailure(.localFile, "--checksum-file \(name): \(error)")
            }
        }
        return found
    }
}
