import ArgumentParser
import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The options about what a request contains: header fields and credentials. `sluice get` and `sluice queue work` have them.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: .init(
            """
            A header field to send, 'Name: value', or @ and a file with one field per line (@- for standard input). Repeatable.
            """, valueName: "field"))
    var headers: [String] = []

    @Option(help: .init("The User-Agent field; empty for none. (default: sluice and its version)", valueName: "text"))
    var userAgent: String?

    @Option(help: .init("The Referer field.", valueName: "url"))
    var referer: String?

    @Option(
        help: .init(
            """
            A user name and a password for Digest or Basic authentication, name:password. Other users of this machine can see \
            arguments, so @ and a file (@- for standard input) is safer.
            """, valueName: "auth"))
    var auth: String?

    @Option(
        help: .init(
            "A file with a token for the field 'Authorization: Bearer', or - for standard input.", valueName: "file"))
    var bearerFile: String?

    @Flag(help: "Use the passwords for hosts in ~/.netrc.")
    var netrc = false

    @Option(help: .init("A netrc file with passwords for hosts.", valueName: "file"))
    var netrcFile: String?

    @OptionGroup
    var cookies: CookieOptions

    /// Fields that would break downloads, because the transfer or the transport sends its own.
    private static let ownFields: Set = [
        "accept-encoding", "connection", "content-length", "expect", "if-match", "if-modified-since", "if-none-match",
        "if-range", "if-unmodified-since", "keep-alive", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether an option reads standard input.
    var readsInput: Bool { headers.contains("@-") || auth == "@-" || bearerFile == "-" }

    /// Whether an option may send a secret to the server of each download.
    private var hasSecrets: Bool {
        !headers.isEmpty || referer != nil || auth != nil || bearerFile != nil || !cookies.cookies.isEmpty
    }

    /// Returns the checked values. Throws a message about the first invalid option. No message repeats a value, which may be a secret.
    ///
    /// - Parameters:
    ///   - command: The command, for messages.
    ///   - origins: The origins that get the fields and the password, or `nil` for those of all requests.
    ///   - inputIsTaken: Whether another option reads standard input.
    func checked(
        for command: String, origins: [String]?, inputIsTaken: Bool, _ console: Console
    ) throws(CommandFailure) -> RequestSettings {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice \(command) --help'.")
        }
        var fields: [HTTPField] = []
        var files: [String] = []
        for header in headers {
            if header.hasPrefix("@") {
                files.append(String(header.dropFirst()))
            } else {
                fields.append(try Self.field(header, option: "-H", refuse))
            }
        }
        if let referer {
            guard Self.isSendable(referer), !referer.isEmpty else {
                throw refuse("--referer: The URL is empty or has a control character.")
            }
            fields.append(HTTPField(name: .referer, value: referer))
        }
        if let cookie = try cookies.checked(refuse) { fields.append(cookie) }
        if let userAgent, !Self.isSendable(userAgent) {
            throw refuse("--user-agent: The text has a control character.")
        }
        guard auth == nil || bearerFile == nil else {
            throw refuse("--auth and --bearer-file can't be combined. Use only one.")
        }
        guard !files.contains(""), auth != "@", bearerFile != "" else {
            throw refuse("\(bearerFile == "" ? "--bearer-file" : auth == "@" ? "--auth" : "-H"): The file has no name.")
        }
        guard netrcFile != "" else { throw refuse("--netrc-file: The file has no name.") }
        let inputs = files.count { $0 == "-" } + (auth == "@-" ? 1 : 0) + (bearerFile == "-" ? 1 : 0)
        guard inputs + (inputIsTaken ? 1 : 0) <= 1 || inputs == 0 else {
            throw refuse("Only one option can read standard input. Use files for the others.")
        }
        var password: RequestSettings.Password?
        if let auth, !auth.hasPrefix("@") { password = try Self.password(auth, refuse) }
        if let origins, origins.isEmpty, hasSecrets {
            throw refuse(
                "--for-origin: Name the servers that may get the header fields and passwords, because anyone who adds "
                    + "downloads to the queue chooses their servers.")
        }
        var netrcFile = netrcFile
        if netrc, netrcFile == nil {
            guard let home = console.homeDirectory else {
                throw refuse("--netrc: HOME isn't set. Name the file with --netrc-file.")
            }
            netrcFile = home + "/.netrc"
        }
        var allowed: [URL]?
        if let origins {
            allowed = []
            for origin in origins { allowed?.append(try Self.origin(origin, refuse)) }
        }
        return RequestSettings(
            fields: fields, fieldFiles: files, userAgent: userAgent, password: password,
            passwordFile: auth.flatMap { $0.hasPrefix("@") ? String($0.dropFirst()) : nil }, bearerFile: bearerFile,
            netrcFile: netrcFile, netrcOption: self.netrcFile == nil ? "--netrc" : "--netrc-file",
            cookieFile: cookies.cookieJar, origins: allowed)
    }

    private static func origin(_ text: String, _ refuse: (String) -> CommandFailure) throws(CommandFailure) -> URL {
        let url: URL
        do throws(URLRefusal) {
            url = try URL(fetchable: text)
        } catch {
            throw refuse("--for-origin: \(error)")
        }
        guard ["", "/"].contains(url.path(percentEncoded: true)), url.query(percentEncoded: true) == nil,
            url.user(percentEncoded: true) == nil
        else {
            throw refuse("--for-origin: Write only the scheme, host and port, such as https://example.com.")
        }
        return url
    }

    /// Returns the field of a line `Name: value`.
    static func field(
        _ line: String, option: String, _ refuse: (String) -> CommandFailure
    ) throws(CommandFailure) -> HTTPField {
        // By bytes: a colon with a combining mark is a different character.
        let parts = line.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = HTTPField.Name(String(Substring(parts[0]))) else {
            throw refuse("\(option): A field is written 'Name: value', with a name of letters, digits and hyphens.")
        }
        let value = Substring(parts[1]).trimmingSpaces()
        guard isSendable(value) else {
            throw refuse("\(option) \(name.rawName): The value has a control character. Remove it.")
        }
        guard !ownFields.contains(name.canonicalName) else {
            throw refuse("\(option) \(name.rawName): sluice sends this field itself. Leave it out.")
        }
        return HTTPField(name: name, value: value)
    }

    /// Returns the parts of `name:password`.
    fileprivate static func password(
        _ text: String, _ refuse: (String) -> CommandFailure
    ) throws(CommandFailure) -> RequestSettings.Password {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw refuse("--auth: The user name and the password are written name:password.")
        }
        guard isSendable(text) else {
            throw refuse("--auth: The user name or the password has a control character. Remove it.")
        }
        return .init(user: String(Substring(parts[0])), text: String(Substring(parts[1])))
    }

    static func isSendable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

// MARK: - The checked values

/// The checked values of ``RequestOptions``, before their files are read.
package struct RequestSettings: Sendable {
    struct Password: Sendable {
        var user: String
        var text: String
    }

    var fields: [HTTPField]
    var fieldFiles: [String]
    var userAgent: String?
    var password: Password?
    var passwordFile: String?
    var bearerFile: String?
    var netrcFile: String?
    /// The option that names the file, for messages.
    var netrcOption: String
    /// The cookie jar.
    var cookieFile: String?
    /// The only origins that get the fields and the password; `nil` for the origins of all requests.
    var origins: [URL]?

    /// Whether the transport presents passwords, which a cache doesn't see.
    var hasPasswords: Bool { password != nil || passwordFile != nil || netrcFile != nil }

    private static let maximumFileSize = 1 << 20

    /// Reads the files. Each option that names an unusable one is a ``CommandFailure``.
    func loaded(files: FileIO = .shared) async throws -> RequestContents {
        func refuse(_ line: String) -> CommandFailure { CommandFailure(.usage, line) }
        var contents = RequestContents(userAgent: userAgent, password: password, origins: origins)
        for field in fields { contents.fields.append(field) }
        for file in fieldFiles {
            for line in try await Self.text(of: file, "-H", files).split(whereSeparator: \.isNewline) {
                if line.allSatisfy(\.isWhitespace) { continue }
                contents.fields.append(try RequestOptions.field(String(line), option: "-H @\(file)", refuse))
            }
        }
        if let passwordFile {
            let text = try await Self.text(of: passwordFile, "--auth", files)
            contents.password = try RequestOptions.password(Self.firstLine(text), refuse)
        }
        if let bearerFile {
            let token = Self.firstLine(try await Self.text(of: bearerFile, "--bearer-file", files)).trimmingSpaces()
            guard !token.isEmpty, RequestOptions.isSendable(token) else {
                throw refuse("--bearer-file \(bearerFile): The first line isn't a token.")
            }
            contents.fields[.authorization] = "Bearer \(token)"
        }
        if let netrcFile {
            let text = try await Self.text(of: netrcFile, netrcOption, files)
            do throws(ServerCredentials.InvalidNetrc) {
                contents.netrc = try ServerCredentials(netrc: text)
            } catch {
                throw refuse("\(netrcOption): \(netrcFile): \(error)")
            }
        }
        return contents
    }

    static func text(of file: String, _ option: String, _ files: FileIO) async throws -> String {
        do {
            let data = try await InputFile.read(file, limit: maximumFileSize, using: files)
            guard let text = String(validating: data, as: UTF8.self) else {
                throw CommandFailure(.usage, "\(option): '\(file)' isn't UTF-8 text.")
            }
            return text
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(option): \(error)")
        }
    }

    static func firstLine(_ text: String) -> String {
        String(text.prefix { !$0.isNewline })
    }
}

/// What the options add to requests.
struct RequestContents: Sendable {
    var fields = HTTPFields()
    var userAgent: String?
    var password: RequestSettings.Password?
    var netrc = ServerCredentials()
    var origins: [URL]?

    /// Adds the credentials and the User-Agent. The password goes to the origins of `urls`, unless the options name origins.
    func apply(to configuration: inout HTTPTransport.Configuration, for urls: some Sequence<URL>) {
        if let userAgent { configuration.userAgent = userAgent }
        configuration.credentials.add(netrc)
        guard let password else { return }
        var known: Set<String> = []
        for url in origins ?? Array(urls) where known.insert(url.origin).inserted {
            configuration.credentials.set(user: password.user, password: password.text, for: url)
        }
    }

    /// Adds the header fields, which the transport sends only to each request's origin.
    func apply(to configuration: inout DownloadCoordinator.Configuration) {
        guard !fields.isEmpty else { return }
        let allowed = origins.map { Set($0.map(\.origin)) }
        configuration.headerFields = { [fields] request in
            guard allowed.map({ $0.contains(request.url.origin) }) ?? true else { return [:] }
            // A download's own fields come first.
            return fields.filter { !request.headerFields.contains($0.name) }
        }
    }
}
