import ArgumentParser
import HTTPTypes
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The cookie options. `sluice get` and `sluice queue work` have them.
struct CookieOptions: ParsableArguments {
    @Option(
        name: .customLong("cookie"),
        help: .init(
            "A cookie to send, 'name=value', or several: 'a=b; c=d'. Repeatable. It is sent like a header field (-H).",
            valueName: "cookie"))
    var cookies: [String] = []

    @Option(
        help: .init(
            """
            A file of cookies in the Netscape format, as curl and browsers write it. Servers get and set their cookies; the file is \
            created if it is missing, and replaced at the end.
            """, valueName: "file"))
    var cookieJar: String?

    /// Returns the `Cookie` field of `--cookie`. No message repeats a value.
    func checked(_ refuse: (String) -> CommandFailure) throws(CommandFailure) -> HTTPField? {
        var pairs: [Substring] = []
        for cookie in cookies {
            for part in cookie.split(separator: ";") {
                let pair = part.trimmingSpaces()
                if pair.isEmpty { continue }
                guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex,
                    pair.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") || $0 == 0x20 })
                else {
                    throw refuse("--cookie: A cookie is written 'name=value', in ASCII and without control characters.")
                }
                pairs.append(pair[...])
            }
        }
        guard cookies.isEmpty || !pairs.isEmpty else { throw refuse("--cookie: The cookie is empty.") }
        guard cookieJar != "" else { throw refuse("--cookie-jar: The file has no name.") }
        guard cookieJar != "-" else {
            throw refuse("--cookie-jar -: The cookies are written back, so they need a file. Name one.")
        }
        return pairs.isEmpty ? nil : HTTPField(name: .cookie, value: pairs.joined(separator: "; "))
    }
}

// MARK: - The files

/// The cookie jars of a run: that of the named file and, for a queue, one for each user in a file beside it.
///
/// The files are read when they are first needed, and replaced at the end.
final class CookieFiles: Sendable {
    private struct Known {
        var jar: CookieJar
        /// The text that the file has.
        var text: String?
    }

    private let path: String
    private let separatesUsers: Bool
    private let files: FileIO
    private let known = Lock<[String: Known]>([:])
    private let readings = SingleFlight<String, CookieJar>()

    private static let maximumSize = 4 << 20

    /// - Parameter separatesUsers: Whether each user has a file of their own.
    init(_ path: String, separatesUsers: Bool, files: FileIO = .shared) {
        self.path = path
        self.separatesUsers = separatesUsers
        self.files = files
    }

    /// Returns the jar of a user. Reads its file the first time.
    ///
    /// - Throws: ``CommandFailure`` if the file can't be read.
    func jar(of user: String?) async throws -> CookieJar {
        let file = file(of: user)
        if let jar = known.withLock({ $0[file]?.jar }) { return jar }
        return try await readings.run(for: file) { try await self.read(file) }
    }

    /// The file of the user `ann` is `FILE.ann`.
    private func file(of user: String?) -> String {
        guard separatesUsers, let user, !user.isEmpty else { return path }
        return "\(path).\(DownloadRequest.fileName(of: user, maximumBytes: 128))"
    }

    private func read(_ file: String) async throws -> CookieJar {
        if let jar = known.withLock({ $0[file]?.jar }) { return jar }
        let entry: Known
        do {
            let data = try await Data(asyncContentsOf: URL(filePath: file), maximumSize: Self.maximumSize, using: files)
            guard let text = String(validating: data, as: UTF8.self) else {
                throw CommandFailure(.usage, "--cookie-jar: '\(file)' isn't UTF-8 text.")
            }
            let jar = try CookieJar(netscape: text)
            entry = Known(jar: jar, text: jar.netscapeText)
        } catch let error as FileError where error.code == .notFound {
            entry = Known(jar: CookieJar(), text: nil)
        } catch let error as FileError {
            throw CommandFailure(.localFile, "--cookie-jar: \(error)")
        } catch let error as CookieJar.InvalidCookies {
            throw CommandFailure(.usage, "--cookie-jar \(file): \(error)")
        }
        known.withLock { $0[file] = entry }
        return entry.jar
    }

    /// Replaces the files whose cookies have changed, and creates missing ones. Only their owner can read them.
    ///
    /// - Throws: ``CommandFailure`` for the first file that can't be written; the others are written.
    func save() async throws {
        var failure: CommandFailure?
        for (file, entry) in known.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            let text = entry.jar.netscapeText
            if text == entry.text { continue }
            do {
                let url = URL(filePath: file)
                // A replaced file hands on its mode.
                if entry.text != nil { try await files.setPermissions(0o600, of: url) }
                try await Data(text.utf8).asyncWrite(
                    to: url, options: FileWriteOptions(permissions: 0o600), using: files)
            } catch let error as FileError {
                failure = failure ?? CommandFailure(.localFile, "--cookie-jar: \(error)")
            }
        }
        if let failure { throw failure }
    }
}
