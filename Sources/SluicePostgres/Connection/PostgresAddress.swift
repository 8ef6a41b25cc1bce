#if PostgreSQL
internal import CSluicePostgres

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The URL of a database, `postgres://user:password@host:5432/database`, as libpq reads it: see section 34.1.1 of PostgreSQL's
/// documentation. What it leaves out comes from the environment (`PGHOST`, `PGPASSWORD`) and the password file.
package struct PostgresAddress: Sendable, Hashable {
    /// The URL with its password, for libpq.
    let url: String
    /// The URL without the password and the options, and with what it leaves out, for messages.
    package let subject: String
    private let password: String?
    /// `connect_timeout` of the URL. libpq doesn't apply it to connections that are established without blocking.
    let connectTimeout: Duration?

    /// - Throws: ``PostgresError/Code/invalidURL``. The error doesn't contain the URL, because its secrets can't be found.
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
        var option = options
        while let keyword = option.pointee.keyword {
            let variable = option.pointee.envvar.flatMap { environment[String(cString: $0)] }
            values[String(cString: keyword)] = option.pointee.val.map { String(cString: $0) } ?? variable
            option += 1
        }
        // libpq refuses a wrong port only when it connects.
        guard (values["port"] ?? "").split(separator: ",").allSatisfy({ UInt16($0) ?? 0 > 0 }) else {
            throw PostgresError(
                .invalidURL, subject: "postgres://…",
                message: "The port in the URL or in PGPORT isn't a number from 1 to 65535.",
                remedy: "Write it as postgres://user:password@host:5432/database.")
        }
        self.url = url
        password = values["password"]
        let seconds = values["connect_timeout"].flatMap { Int($0) } ?? 0
        connectTimeout = seconds > 0 ? .seconds(seconds) : nil
        let user = values["user"].map { "\($0)@" } ?? ""
        let host = values["host"] ?? values["hostaddr"] ?? ""
        let port = values["port"].map { ":\($0)" } ?? ""
        subject = "postgres://\(user)\(host)\(port)/\(values["dbname"] ?? "")"
    }

    /// Only this message of libpq contains nothing but the name of an option.
    private static func message(_ reason: String) -> String {
        guard let range = reason.firstRange(of: "invalid URI query parameter: \""),
            let end = reason[range.upperBound...].firstIndex(of: "\"")
        else { return "This isn't the URL of a PostgreSQL database." }
        return "The URL of the database has the unknown option '\(reason[range.upperBound..<end])'."
    }

    /// Returns the text without the password. libpq and servers don't print it, but that isn't promised.
    func withoutPassword(_ text: String) -> String {
        guard let password, password.count > 3 else { return text }
        return text.replacing(password, with: "…")
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
