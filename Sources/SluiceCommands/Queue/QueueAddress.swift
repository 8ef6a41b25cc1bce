import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the argument of `--db` names: a database file, or a queue in a PostgreSQL database.
///
/// The name of a queue in a PostgreSQL database follows the URL of the database, after `#`: `postgres://ann@db.example/sluice#songs`.
/// Without it, the queue is `default`.
enum QueueAddress: Sendable, Equatable {
    case file(URL)
    /// The URL is the part that libpq reads.
    case postgres(url: String, queue: String)

    static let defaultQueue = "default"

    /// A message about an argument that names nothing. It doesn't contain the argument, which may have a password.
    struct Problem: Error, Equatable {
        /// What the message is about; empty for an empty argument.
        var subject: String
        var message: String
    }

    init(_ argument: String) throws(Problem) {
        guard !argument.isEmpty else {
            throw Problem(subject: "", message: "The file name is empty. Name a file.")
        }
        let lowercased = argument.lowercased()
        guard let scheme = ["postgres", "postgresql"].first(where: { lowercased.hasPrefix("\($0)://") }) else {
            self = .file(URL(filePath: argument, directoryHint: .notDirectory))
            return
        }
        // libpq knows the schemes only in lowercase.
        let url = scheme + argument.dropFirst(scheme.count)
        // libpq accepts `#` in a user name and in a password, which end at `@`.
        guard let mark = url.lastIndex(of: "#"), !url[mark...].contains("@") else {
            self = .postgres(url: url, queue: Self.defaultQueue)
            return
        }
        guard let bytes = url[url.index(after: mark)...].percentDecodedBytes,
            let queue = String(validating: bytes, as: UTF8.self), Self.isName(queue)
        else {
            throw Problem(
                subject: "\(scheme)://…",
                message:
                    "The name of the queue after # isn't valid. Write 1 to 255 bytes without control characters, with "
                    + "% codes for special characters, or leave out #.")
        }
        self = .postgres(url: String(url[..<mark]), queue: queue)
    }

    private static func isName(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
