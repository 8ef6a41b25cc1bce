import SluiceDownloads
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

    /// The directory of entries that name none.
    let directory: String
    /// Whether `-o` names the file, for messages.
    var namesFile = false
    private var directories: [String: URL] = [:]

    init(directory: String, namesFile: Bool = false) {
        self.directory = directory
        self.namesFile = namesFile
    }

    mutating func request(for entry: GetList.Entry) throws(Problem) -> DownloadRequest {
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
            throw Problem(
                line:
                    "\(prefix)\(option): This isn't a plain file name. Leave out directories, leading dots and control "
                    + "characters, and choose the directory with \(directoryOption).")
        }
        let path = entry.directory ?? directory
        let directory = directories[path] ?? Self.directory(path)
        directories[path] = directory
        return DownloadRequest(url, to: directory, name: entry.name, user: entry.user)
    }

    /// Returns the directory as an absolute URL without `.` and `..`, so that each directory has one URL.
    private static func directory(_ path: String) -> URL {
        URL(filePath: path.isEmpty ? "." : path, directoryHint: .isDirectory).absoluteURL.standardizedFileURL
    }
}
