import HTTPTypes
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Who may use a page, and from where.

extension QueuePage {
    /// Throws if the request may come from another page. The token is checked later (``isAuthorized(_:)``).
    func admit(_ request: PageRequest) throws(PageProblem) {
        try checkHost(of: request.head)
        if request.head.method != .get, request.head.method != .head { try checkOrigin(of: request.head) }
    }

    /// Another page can give its own host name our address (DNS rebinding), but then the browser sends that name.
    private func checkHost(of head: HTTPRequest) throws(PageProblem) {
        guard let authority = head.authority ?? head.headerFields[.host], let host = Self.host(of: authority),
            Self.isAddress(host) || host == "localhost" || host.hasSuffix(".localhost")
                || configuration.hosts.contains(where: { $0.lowercased() == host })
        else {
            throw PageProblem(
                .misdirectedRequest,
                "This page isn't reached by that host name. Use the server's IP address, or allow the name with --host."
            )
        }
    }

    /// The host in lowercase, without the port; `nil` if the text isn't a host.
    private static func host(of authority: String) -> String? {
        let text = authority.lowercased()
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            return String(text[...end])
        }
        let host = text.prefix { $0 != ":" }
        return host.isEmpty ? nil : String(host)
    }

    /// A name can't look like an address: its last part isn't a number, and it has no brackets.
    private static func isAddress(_ host: String) -> Bool {
        if host.hasPrefix("[") { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    /// A browser sends `Origin` with every request that changes something. Other programs needn't.
    private func checkOrigin(of head: HTTPRequest) throws(PageProblem) {
        let site = head.headerFields[.secFetchSite]
        let origin = head.headerFields[.origin]
        let authority = (head.authority ?? head.headerFields[.host] ?? "").lowercased()
        let isSame = origin.map { $0.lowercased().split(separator: "/").last.map(String.init) == authority } ?? true
        guard isSame, site == nil || site == "same-origin" || site == "none" else {
            throw PageProblem(.forbidden, "The request comes from another page.")
        }
    }

    // MARK: The token

    func isAuthorized(_ request: PageRequest) -> Bool {
        guard let token = configuration.token else { return true }
        if let field = request.head.headerFields[.authorization] {
            let words = field.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0].lowercased() == "bearer" else { return false }
            return String(words[1]).isSecretly(token)
        }
        guard let session = request.cookie(PageSessions.cookie) else { return false }
        return sessions.contains(session)
    }

    func login(_ request: PageRequest) async throws -> Response {
        guard let token = configuration.token else { return .redirect(to: configuration.basePath + "/") }
        guard request.body.count < 10_000, let text = String(data: request.body, encoding: .utf8) else {
            throw PageProblem(.contentTooLarge, "The token is too long.")
        }
        let given = try PageRequest.form(text)["token"] ?? ""
        guard given.isSecretly(token) else {
            // Guessing a token of 16 characters would take forever anyway. A short one should take long, too.
            try await Task.sleep(for: .seconds(1))
            return Response(.html(PageHTML.login(self, isWrong: true)), status: .forbidden)
        }
        // A browser doesn't send a `Secure` cookie to a server without TLS.
        let isSecure = request.head.headerFields[.origin]?.lowercased().hasPrefix("https:") == true
        let cookie =
            "\(PageSessions.cookie)=\(sessions.begin()); Path=\(configuration.basePath)/; HttpOnly; SameSite=Strict"
            + "; Max-Age=\(PageSessions.lifetime.components.seconds)" + (isSecure ? "; Secure" : "")
        return .redirect(to: configuration.basePath + "/", headerFields: [.setCookie: cookie])
    }

    func logout(_ request: PageRequest) -> Response {
        if let session = request.cookie(PageSessions.cookie) { sessions.end(session) }
        let cookie = "\(PageSessions.cookie)=; Path=\(configuration.basePath)/; HttpOnly; SameSite=Strict; Max-Age=0"
        return .redirect(to: configuration.basePath + "/", headerFields: [.setCookie: cookie])
    }
}

extension PageRequest {
    fileprivate func cookie(_ name: String) -> String? {
        for field in head.headerFields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let sides = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                if sides.count == 2, sides[0] == name { return String(sides[1]) }
            }
        }
        return nil
    }
}

extension String {
    /// Whether two secrets are equal. The time depends only on the length of this one.
    fileprivate func isSecretly(_ other: String) -> Bool {
        let (mine, theirs) = (Array(utf8), Array(other.utf8))
        var difference = mine.count == theirs.count ? 0 : 1
        for index in mine.indices {
            difference |= Int(mine[index] ^ (theirs.isEmpty ? 0 : theirs[index % theirs.count]))
        }
        return difference == 0
    }
}

/// The browsers that have sent the token.
final class PageSessions: Sendable {
    static let cookie = "sluice_session"
    static let lifetime = Duration.seconds(12 * 3600)
    /// The sessions that end first are forgotten.
    private static let maximumSessions = 10_000

    private let ends = Lock<[String: ContinuousClock.Instant]>([:])

    func begin() -> String {
        // From the system's generator, which is cryptographically secure.
        let session = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
        ends.withLock { ends in
            let now = ContinuousClock.now
            ends = ends.filter { $0.value > now }
            if ends.count >= Self.maximumSessions, let first = ends.min(by: { $0.value < $1.value }) {
                ends[first.key] = nil
            }
            ends[session] = now + Self.lifetime
        }
        return session
    }

    func contains(_ session: String) -> Bool { ends.withLock { $0[session].map { $0 > .now } ?? false } }

    func end(_ session: String) { ends.withLock { _ = $0.removeValue(forKey: session) } }
}

extension HTTPFields {
    /// What keeps other pages, and texts with scripts in them, from doing harm.
    mutating func protect() {
        self[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
            + "frame-ancestors 'none'; base-uri 'none'"
        self[.xContentTypeOptions] = "nosniff"
        // With `no-referrer`, a browser would send `Origin: null` with the login form.
        self[HTTPField.Name("Referrer-Policy")!] = "same-origin"
        self[HTTPField.Name("Cross-Origin-Opener-Policy")!] = "same-origin"
        self[HTTPField.Name("Cross-Origin-Resource-Policy")!] = "same-origin"
    }
}

extension HTTPField.Name {
    fileprivate static let host = Self("Host")!
    fileprivate static let secFetchSite = Self("Sec-Fetch-Site")!
}
