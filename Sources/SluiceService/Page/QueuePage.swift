public import HTTPTypes
public import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A web page that shows a queue and lets people change it, and an HTTP API with the same functions, for a server of your own.
///
///     let page = QueuePage(downloads, configuration: .init(basePath: "/queue", token: token))
///
///     // In the server's handler for all requests below /queue:
///     let response = await page.response(to: head, body: body)
///
/// It is a function from a request to a response, without sockets, so it fits into any server. `sluice queue serve` is this page with a
/// server. The page shows the same queue whichever process runs its downloads.
///
/// **What it needs from the server.** The server reads requests, limits their sizes (a body needs at most
/// ``maximumBodySize`` bytes), and provides TLS if the page is for other machines. It passes the `Host` field as the request's
/// `authority`.
///
/// **Security.** Requests for a host that isn't this machine's or allowed are refused, so that another page can't reach the queue through
/// a name of its own (DNS rebinding). So are changes that another page sends (CSRF). With a ``Configuration/token``, nothing but the login
/// form is shown without it. Secrets in URLs, such as passwords and signatures, are shown nowhere.
///
/// **Cost.** All open pages share one poll of the queue's events. A page reads only the rows that it shows, and equal requests within a
/// second get one answer.
public struct QueuePage: Sendable {
    /// The settings of a page.
    public struct Configuration: Sendable {
        /// The path where the page is mounted, such as `/queue`; empty for the root of the server.
        public var basePath: String
        /// The title of the page, for example the name of the queue.
        public var title: String
        /// Whether the page only shows the queue. Then it refuses changes with the status 403.
        public var isReadOnly: Bool
        /// The secret that people and programs must know; `nil` if everyone who reaches the server may use the page.
        ///
        /// A browser exchanges it for a cookie in a login form. A program sends it as `Authorization: Bearer TOKEN`. Choose at least 16 random
        /// characters.
        public var token: String?
        /// The host names that the page is reached by, without ports, besides IP addresses and `localhost`.
        public var hosts: Set<String>

        /// Creates settings. By default, the page is at the root, without a token.
        ///
        /// - Precondition: `basePath` is empty, or begins with a slash and doesn't end with one; `token` isn't empty.
        public init(
            basePath: String = "", title: String = "Downloads", isReadOnly: Bool = false, token: String? = nil,
            hosts: Set<String> = []
        ) {
            precondition(
                basePath.isEmpty || basePath.hasPrefix("/") && !basePath.hasSuffix("/"),
                "The base path of a page must begin with a slash and not end with one; it is '\(basePath)'.")
            precondition(token != "", "The token of a page must not be empty.")
            self.basePath = basePath
            self.title = title
            self.isReadOnly = isReadOnly
            self.token = token
            self.hosts = hosts
        }
    }

    /// A response for the server to send.
    public struct Response: Sendable {
        /// The status and the header fields, without `Content-Length` and `Transfer-Encoding`.
        public var head: HTTPResponse
        /// The body. In response to `HEAD`, the server sends only its length.
        public var body: Body
    }

    /// The body of a response.
    public enum Body: Sendable {
        /// A complete body.
        case data(Data)
        /// Pieces of a body without an end, which the server sends as they come, until the client leaves. Cancel the task that iterates
        /// it then.
        case stream(AsyncThrowingStream<Data, any Error>)
    }

    /// The largest body that the page accepts, in bytes.
    public static let maximumBodySize = 1 << 20

    let configuration: Configuration
    let downloads: DownloadCoordinator
    let feed: PageFeed
    let sessions = PageSessions()
    /// Equal requests get one answer.
    let answers = PageCache<Data>(age: .seconds(1))
    /// The last hour is read from many events, and changes slowly.
    let plots = PageCache<[QueueMinute]>(age: .seconds(10))

    /// Creates a page for a queue. The coordinator must stay open as long as the page is used.
    public init(_ downloads: DownloadCoordinator, configuration: Configuration = Configuration()) {
        self.downloads = downloads
        self.configuration = configuration
        feed = PageFeed(downloads)
    }

    /// Answers a request.
    ///
    /// It never throws: an error of the queue becomes a response with the status 503 that says what is wrong.
    ///
    /// - Parameters:
    ///   - request: The request's method, path with query, header fields, and its `Host` as `authority`.
    ///   - body: The request's body.
    /// - Returns: The response. Requests outside the base path get the status 404.
    @concurrent public func response(to request: HTTPRequest, body: Data = Data()) async -> Response {
        do {
            return try await route(PageRequest(request, body, in: configuration.basePath))
        } catch let problem as PageProblem {
            return problem.response(wantsHTML: request.wantsHTML)
        } catch let error as QueueStoreError {
            let text = Redaction().redacted("\(error)")
            return PageProblem(.serviceUnavailable, "The queue can't be used: \(text)")
                .response(wantsHTML: request.wantsHTML)
        } catch {
            return PageProblem(.internalServerError, "The request failed: \(Redaction().redacted("\(error)"))")
                .response(wantsHTML: request.wantsHTML)
        }
    }
}

extension HTTPRequest {
    fileprivate var wantsHTML: Bool { headerFields[.accept]?.contains("text/html") == true }
}

/// Why a request isn't fulfilled.
struct PageProblem: Error {
    var status: HTTPResponse.Status
    /// What happened and what to do, for people.
    var message: String
    var headerFields: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ message: String, headerFields: HTTPFields = [:]) {
        self.status = status
        self.message = message
        self.headerFields = headerFields
    }

    func response(wantsHTML: Bool) -> QueuePage.Response {
        var response =
            wantsHTML
            ? QueuePage.Response(.html(PageHTML.problem(status, message)), status: status)
            : QueuePage.Response(.json(PageValues.Problem(status: status.code, message: message)), status: status)
        for field in headerFields { response.head.headerFields.append(field) }
        return response
    }
}

extension QueuePage.Response {
    enum Content {
        case html(String)
        case json(any Encodable)
        case file(Data, type: String)
    }

    init(_ content: Content, status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:]) {
        var head = HTTPResponse(status: status, headerFields: headerFields)
        head.headerFields.protect()
        head.headerFields[.cacheControl] = headerFields[.cacheControl] ?? "no-store"
        switch content {
        case .html(let text):
            head.headerFields[.contentType] = "text/html; charset=utf-8"
            self.init(head: head, body: .data(Data(text.utf8)))
        case .json(let value):
            head.headerFields[.contentType] = "application/json"
            self.init(head: head, body: .data(PageValues.json(value)))
        case .file(let data, let type):
            head.headerFields[.contentType] = type
            self.init(head: head, body: .data(data))
        }
    }

    static func redirect(to path: String, headerFields: HTTPFields = [:]) -> Self {
        var fields = headerFields
        fields[.location] = path
        return Self(.html(""), status: .seeOther, headerFields: fields)
    }
}
