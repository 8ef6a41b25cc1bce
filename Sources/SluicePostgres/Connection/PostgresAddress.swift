#if PostgreSQL
internal import CSluicePostgres

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The URL of a database, `postgres://user:password@host:5432/database`, as libpq reads it: see section 34.1.1 of PostgreSQL's
/// documentation. Missing parts come from the environment (`PGHOST`, `PGPASSWORD`) and the password file.
package struct PostgresAddress: Sendable, Hashable {
    /// The URL with its password, for libpq.
    let url: String
    /// The URL for messages: without the password and options, but with the missing parts filled in.
    package let subject: String
    /// The passwords from the URL and the environment, both as libpq has them and as they are written in the URL.
    private let secrets: Set<String>
    /// The URL's `connect_timeout`. libpq doesn't apply it to nonblocking connections.
    let connectTimeout: Duration?

    /// - Throws: ``PostgresError/Code/invalidURL``. The error doesn't contain the URL, because we can't tell where its secrets are.
    package init(_ url: String) throws {
        var error: UnsafeMutablePointer<CChar>?
        let isURL = url.hasPrefix("postgres://") || url.hasPrefix("postgresql://")
        guard isURL, !url.utf8.contains(0), let options = PQconninfoParse(url, &error) else {
            let reason = error.map { String(cString: $0) } ?? ""
            PQfreemem(error)
            throw PostgresError(
                .invalidURL, subject: "postgres://…", message: Self.message(reason),
                remedy: "Write it as postgres://user:password@host:5432/database, with % codes for special characters.")
        }
        defer { PQconninfoFree(options) }
        let environment = ProcessInfo.processInfo.environment
        var values: [String: String] = [:]
        var secrets: Set<String> = []
        var option = options
        while let keyword = option.pointee.keyword {
            let variable = option.pointee.envvar.flatMap { environment[String(cString: $0)] }
            let value = option.pointee.val.map { String(cString: $0) } ?? variable
            values[String(cString: keyword)] = value
            // libpq marks options whose values must not be shown: the user's and the key's passwords.
            if let value, option.pointee.dispchar.map({ String(cString: $0) }) == "*" { secrets.insert(value) }
            option += 1
        }
        secrets.formUnion(Self.encodedSecrets(in: url))
        // libpq rejects an invalid port only when it connects.
        guard (values["port"] ?? "").split(separator: ",").allSatisfy({ UInt16($0) ?? 0 > 0 }) else {
            throw PostgresError(
                .invalidURL, subject: "postgres://…",
                message: "The port in the URL or in PGPORT isn't a number from 1 to 65535.",
                remedy: "Write it as postgres://user:password@host:5432/database.")
        }
        self.url = url
        self.secrets = secrets.filter { $0.count > 3 }
        let seconds = values["connect_timeout"].flatMap { Int($0) } ?? 0
        connectTimeout = seconds > 0 ? .seconds(min(seconds, 86_400)) : nil
        let user = values["user"].map { "\($0)@" } ?? ""
        let host = values["host"] ?? values["hostaddr"] ?? ""
        let port = values["port"].map { ":\($0)" } ?? ""
        subject = "postgres://\(user)\(host)\(port)/\(values["dbname"] ?? "")"
    }

    /// This is the only libpq message that contains nothing but an option's name.
    private static func message(_ reason: String) -> String {
        guard let range = reason.firstRange(of: "invalid URI query parameter: \""),
            let end = reason[range.upperBound...].firstIndex(of: "\"")
        else { return "This isn't the URL of a PostgreSQL database." }
        return "The URL of the database has the unknown option '\(reason[range.upperBound..<end])'."
    }

    /// The passwords as they are written in the URL, percent-encoded.
    private static func encodedSecrets(in url: String) -> [String] {
        guard let start = url.firstRange(of: "://")?.upperBound else { return [] }
        var secrets: [String] = []
        let rest = url[start...]
        if let at = rest.firstIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
            secrets.append(String(rest[rest.index(after: colon)..<at]))
        }
        if let question = rest.firstIndex(of: "?") {
            for option in rest[question...].dropFirst().split(separator: "&") {
                let parts = option.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0].hasSuffix("password") { secrets.append(String(parts[1])) }
            }
        }
        return secrets
    }

    /// Returns the text without passwords. All text from libpq and from servers goes through here. They don't print passwords, but they
    /// don't promise not to.
    func withoutSecrets(_ text: String) -> String {
        // Longest first, because one may be part of another.
        secrets.sorted { $0.count > $1.count }.reduce(text) { $0.replacing($1, with: "…") }
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(url) }
    package static func == (one: PostgresAddress, other: PostgresAddress) -> Bool { one.url == other.url }
}

extension PostgresAddress: CustomStringConvertible, CustomReflectable {
    package var description: String { subject }
    /// Keeps the password out of `dump(_:)` and of test reports.
    package var customMirror: Mirror { Mirror(self, children: ["subject": subject]) }
}
#endif
