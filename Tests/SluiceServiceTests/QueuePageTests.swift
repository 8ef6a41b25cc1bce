import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads
@testable import SluiceService

/// A page of a queue in memory, without a server.
private struct PageScene: Sendable {
    let downloads: DownloadCoordinator
    let page: QueuePage

    init(_ configuration: QueuePage.Configuration = .init()) {
        downloads = DownloadCoordinator(transport: ScriptedTransport([:]))
        page = QueuePage(downloads, configuration: configuration)
    }

    static let music = URL(filePath: "/music/", directoryHint: .isDirectory)

    func request(_ number: Int, host: String = "a.example", user: String? = nil) -> DownloadRequest {
        DownloadRequest(
            URL(string: "https://\(host)/song-\(number).mp3?token=secret")!, to: Self.music, user: user)
    }

    func response(
        _ method: HTTPRequest.Method, _ path: String, _ body: String = "", host: String? = "localhost:8080",
        headerFields: HTTPFields = [:]
    ) async -> QueuePage.Response {
        var fields = headerFields
        if method == .post, fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let request = HTTPRequest(
            method: method, scheme: "http", authority: host, path: path, headerFields: fields)
        return await page.response(to: request, body: Data(body.utf8))
    }

    func text(
        _ method: HTTPRequest.Method, _ path: String, _ body: String = "", headerFields: HTTPFields = [:]
    ) async throws -> String {
        let response = await response(method, path, body, headerFields: headerFields)
        guard case .data(let data) = response.body else { throw Failed() }
        return String(decoding: data, as: UTF8.self)
    }

    func text(_ path: String) async throws -> String { try await text(.get, path) }

    func json(_ path: String) async throws -> [String: Any] { try await json(.get, path) }

    func json(_ method: HTTPRequest.Method, _ path: String, _ body: String = "") async throws -> [String: Any] {
        let text = try await text(method, path, body)
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    struct Failed: Error {}
}

private func state(_ download: [String: Any]?) -> String? { download?["state"] as? String }

@Suite struct `A queue's page` {
    @Test func `says why a worker is gone`() async throws {
        let scene = PageScene()
        let presence = WorkerPresence(
            machine: "studio-1", process: 4711, began: Date(), limits: .init(total: 8), resolves: false,
            failure: "/music/<b>: No space left on device. https://ann:secret@a.example/")
        try await scene.downloads.store.report(presence, of: QueueWorker(name: "w"), [])
        let html = try await scene.text("/")
        #expect(html.contains("The worker on studio-1 (process 4711) stopped at "))
        #expect(html.contains("/music/&lt;b&gt;: No space left on device.") && html.contains("<b>stopped</b>"))
        #expect(!html.contains("secret") && !html.contains("hasn't reported"))
        let workers = try #require(try await scene.json("/api/v1/queue")["workers"] as? [[String: Any]])
        #expect(workers.map { $0["isResponding"] as? Bool } == [false])
        #expect((workers[0]["failure"] as? String)?.hasPrefix("/music/<b>: No space") == true)
    }

    @Test func `shows the queue without secrets, and what it shows is escaped`() async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue([scene.request(1, user: "<script>alert(1)</script>")], batch: "a&b\u{202E}")
        let html = try await scene.text("/")
        #expect(html.contains("song-1.mp3"))
        #expect(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
        #expect(html.contains("a&amp;b\u{FFFD}"))
        #expect(!html.contains("<script>") && !html.contains("\u{202E}"))
        #expect(html.contains("No worker is running, and 1 download waits."))
        for path in [
            "/", "/downloads/1", "/api/v1/downloads", "/api/v1/downloads/1", "/api/v1/events", "/api/v1/queue",
        ] {
            #expect(try await !scene.text(path).contains("secret"), "\(path)")
        }
    }

    @Test func `every response has the header fields that protect it`() async throws {
        let scene = PageScene(.init(token: "0123456789abcdef"))
        let paths = ["/", "/page.css", "/page.js", "/icon.svg", "/api/v1/queue", "/nothing", "/login"]
        for path in paths {
            for fields in [HTTPFields(), [.authorization: "Bearer 0123456789abcdef"]] {
                let head = await scene.response(.get, path, headerFields: fields).head
                #expect(head.headerFields[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; ") == true, "\(path)")
                #expect(head.headerFields[.xContentTypeOptions] == "nosniff", "\(path)")
            }
        }
    }

    @Test(arguments: [
        ("localhost", 200), ("LOCALHOST:80", 200), ("127.0.0.1:8080", 200), ("[::1]:8080", 200), ("[2001:db8::1]", 200),
        ("192.0.2.7", 200), ("queue.example:443", 200), ("page.localhost", 200), ("evil.example", 421),
        ("127.0.0.1.evil.example", 421), ("queue.example.evil.example", 421), ("256.1.1.1", 421), ("", 421),
        ("localhost.evil.example", 421),
    ])
    func `answers only for hosts that are its own`(host: String, status: Int) async {
        let scene = PageScene(.init(hosts: ["Queue.Example"]))
        #expect(await scene.response(.get, "/api/v1/queue", host: host).head.status.code == status)
        #expect(await scene.response(.get, "/page.css", host: host).head.status.code == status)
    }

    @Test func `refuses changes that another page sends`() async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue([scene.request(1)])
        let change = #"{"action":"cancel","ids":[1]}"#
        let site = HTTPField.Name("Sec-Fetch-Site")!
        let refused: [HTTPFields] = [
            [.origin: "http://evil.example"], [.origin: "null"], [.origin: "http://localhost:9090"],
            [site: "cross-site"], [site: "same-site", .origin: "http://localhost:8080"],
        ]
        for fields in refused {
            #expect(
                await scene.response(.post, "/api/v1/changes", change, headerFields: fields).head.status == .forbidden)
        }
        // A form can send this type without asking the server first.
        let form = await scene.response(.post, "/api/v1/changes", change, headerFields: [.contentType: "text/plain"])
        #expect(form.head.status == .unsupportedMediaType)
        #expect(try await scene.downloads.downloads(.all).map(\.state) == [.waiting])
        let accepted: HTTPFields = [.origin: "http://localhost:8080", site: "same-origin"]
        #expect(await scene.response(.post, "/api/v1/changes", change, headerFields: accepted).head.status == .ok)
        #expect(try await scene.downloads.downloads(.all).map(\.state) == [.cancelled])
    }

    @Test func `a page with a token shows nothing without it`() async throws {
        let token = "0123456789abcdef"
        let scene = PageScene(.init(basePath: "/queue", token: token))
        try await scene.downloads.enqueue([scene.request(1)])
        let login = await scene.response(.get, "/queue/")
        #expect(login.head.status == .unauthorized)
        #expect(try await scene.text("/queue/").contains("type=\"password\""))
        for path in ["/queue/", "/queue/downloads/1", "/queue/api/v1/downloads", "/queue/page.js"] {
            for wrong in ["", "Bearer", "Bearer ", "Bearer 0123456789abcdeX", "Basic \(token)", "Bearer \(token)0"] {
                let fields: HTTPFields = wrong.isEmpty ? [:] : [.authorization: wrong]
                let response = await scene.response(.get, path, headerFields: fields)
                #expect(response.head.status == .unauthorized, "\(path) \(wrong)")
                #expect(try await !scene.text(path).contains("song-1"))
            }
            let right = await scene.response(.get, path, headerFields: [.authorization: "bearer \(token)"])
            #expect(right.head.status == .ok, "\(path)")
        }
        let change = await scene.response(.post, "/queue/api/v1/changes", #"{"action":"cancel","ids":[1]}"#)
        #expect(change.head.status == .unauthorized)
        #expect(change.head.headerFields[.wwwAuthenticate] == "Bearer")
    }

    @Test func `a browser logs in with the token, and out again`() async throws {
        let scene = PageScene(.init(basePath: "/queue", token: "0123456789abc+ef"))
        let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        let wrong = await scene.response(.post, "/queue/login", "token=0123456789abc", headerFields: form)
        #expect(wrong.head.status == .forbidden)
        #expect(wrong.head.headerFields[.setCookie] == nil)
        let right = await scene.response(.post, "/queue/login", "token=0123456789abc%2Bef", headerFields: form)
        #expect(right.head.status == .seeOther)
        #expect(right.head.headerFields[.location] == "/queue/")
        let cookie = try #require(right.head.headerFields[.setCookie])
        #expect(cookie.contains("; Path=/queue/; HttpOnly; SameSite=Strict; Max-Age="))
        #expect(!cookie.contains("Secure"))
        let session = HTTPFields([HTTPField(name: .cookie, value: "a=b; " + cookie.prefix { $0 != ";" })])
        #expect(await scene.response(.get, "/queue/", headerFields: session).head.status == .ok)
        let out = await scene.response(.post, "/queue/logout", headerFields: session)
        #expect(out.head.status == .seeOther)
        #expect(await scene.response(.get, "/queue/", headerFields: session).head.status == .unauthorized)
        var overTLS = form
        overTLS[.origin] = "https://localhost:8080"
        let secure = await scene.response(.post, "/queue/login", "token=0123456789abc%2Bef", headerFields: overTLS)
        #expect(secure.head.headerFields[.setCookie]?.hasSuffix("; Secure") == true)
    }

    @Test func `a read-only page refuses changes`() async throws {
        let scene = PageScene(.init(isReadOnly: true))
        try await scene.downloads.enqueue([scene.request(1)])
        for (path, body) in [
            ("/api/v1/changes", #"{"action":"cancel","ids":[1]}"#),
            ("/api/v1/downloads", #"{"downloads":[{"url":"https://a.example/2"}]}"#),
        ] {
            #expect(await scene.response(.post, path, body).head.status == .forbidden)
        }
        #expect(try await scene.downloads.downloads(.all).map(\.state) == [.waiting])
        #expect(try await !scene.text("/").contains("data-action"))
    }

    @Test(arguments: [
        ("GET", "/nothing", 404), ("GET", "/downloads/x", 404), ("GET", "/downloads/77", 404),
        ("GET", "/api/v1/downloads/01", 404), ("GET", "/api/v2/queue", 404), ("POST", "/", 405), ("DELETE", "/", 405),
        ("PUT", "/api/v1/changes", 405), ("GET", "/api/v1/changes", 405), ("GET", "/?state=lost", 400),
        ("GET", "/api/v1/downloads?stat=done", 400), ("GET", "/api/v1/downloads?limit=0", 400),
        ("GET", "/api/v1/downloads?limit=1001", 400), ("GET", "/api/v1/downloads?after=7", 400),
        ("GET", "/api/v1/downloads?after=99999999999999999999.1", 400), ("GET", "/?user=%FF", 400),
        ("GET", "/api/v1/events?after=-1", 400), ("HEAD", "/", 200), ("GET", "/?user=&state=", 200),
        ("GET", "/?user=%00", 200), ("GET", "/api/v1/downloads?state=", 400),
        ("GET", "/api/v1/events?after=9223372036854775807", 200),
    ])
    func `a wrong request gets a status that says so`(method: String, path: String, status: Int) async throws {
        let scene = PageScene()
        let response = await scene.response(try #require(HTTPRequest.Method(method)), path)
        #expect(response.head.status.code == status)
        if status == 405 { #expect(response.head.headerFields[.allow] != nil) }
    }

    @Test(arguments: [
        "", "[]", "{", "null", #"{"action":"explode","ids":[1]}"#, #"{"action":"cancel"}"#,
        #"{"action":"cancel","ids":["1"]}"#, #"{"action":"cancel","ids":[1],"filter":{}}"#,
        #"{"action":"cancel","ids":[1],"priority":3}"#, #"{"action":"prioritize","ids":[1]}"#,
        #"{"action":"cancel","filter":{"state":"lost"}}"#, #"{"action":"cancel","ids":[1e99]}"#,
    ])
    func `a change that isn't valid changes nothing`(body: String) async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue([scene.request(1)])
        let response = await scene.response(.post, "/api/v1/changes", body)
        #expect(response.head.status == .badRequest)
        guard case .data(let data) = response.body else { throw PageScene.Failed() }
        #expect(String(decoding: data, as: UTF8.self).contains("\"message\":"))
        #expect(try await scene.downloads.downloads(.all).map(\.state) == [.waiting])
    }

    @Test func `downloads are added below the worker's directory, and never elsewhere`() async throws {
        let scene = PageScene()
        let added = try await scene.json(
            .post, "/api/v1/downloads",
            #"""
            {"batch":"list","downloads":[{"url":"https://a.example/1.mp3","directory":"music/2026","user":"ann","priority":3},
              {"url":"https://a.example/2.mp3","name":"two.mp3","user":""}]}
            """#)
        let admissions = (added["downloads"] as? [[String: Any]])?.compactMap { $0["admission"] as? String }
        #expect(admissions == ["added", "added"])
        let downloads = try await scene.downloads.downloads(.all)
        #expect(downloads.map(\.request.name) == ["1.mp3", "two.mp3"])
        #expect(downloads.map { $0.members.map(\.user) } == [["ann"], [nil]])
        #expect(downloads.map { $0.members.map(\.batch) } == [["list"], ["list"]])
        #expect(downloads.map(\.request.priority) == [3, 0])
        #expect(downloads.map(\.request.isRelative) == [true, true])
        for directory in ["/etc", "..", "a/../b", "a//b", ".ssh", "a/"] {
            let body = #"{"downloads":[{"url":"https://a.example/3.mp3","directory":"\#(directory)"}]}"#
            #expect(await scene.response(.post, "/api/v1/downloads", body).head.status == .badRequest, "\(directory)")
        }
        for url in ["file:///etc/passwd", "ftp://a.example/x", "a.example/x", "", "https://"] {
            let body = #"{"downloads":[{"url":"\#(url)"}]}"#
            #expect(await scene.response(.post, "/api/v1/downloads", body).head.status == .badRequest, "\(url)")
        }
        let wrongChecksum = #"{"downloads":[{"url":"https://a.example/3.mp3","checksum":"sha256:1"}]}"#
        #expect(await scene.response(.post, "/api/v1/downloads", wrongChecksum).head.status == .badRequest)
        #expect(await scene.response(.post, "/api/v1/downloads", #"{"downloads":[]}"#).head.status == .badRequest)
        #expect(try await scene.downloads.downloads(.all).count == 2)
    }

    @Test func `a change tells first how many downloads it affects, and then affects those`() async throws {
        let scene = PageScene()
        for number in 0..<6 {
            try await scene.downloads.enqueue(
                [
                    scene.request(
                        number, host: number < 3 ? "a.example" : "b.example", user: number % 2 == 0 ? "ann" : "ben")
                ],
                batch: number < 4 ? "list" : nil)
        }
        func count(_ change: String, preview: Bool) async throws -> Int? {
            try await scene.json(.post, "/api/v1/changes", "{\(change),\"isPreview\":\(preview)}")["changedCount"]
                as? Int
        }
        func states() async throws -> [QueuedDownload.State] {
            try await scene.downloads.downloads(.all).map(\.state)
        }
        let steps: [(String, Int, [QueuedDownload.State])] = [
            (#""action":"pause","ids":[1,2,2,77]"#, 2, [.paused, .paused, .waiting, .waiting, .waiting, .waiting]),
            (#""action":"resume","ids":[2,3]"#, 1, [.paused, .waiting, .waiting, .waiting, .waiting, .waiting]),
            (
                #""action":"cancel","filter":{"user":"ann","host":"b.example"}"#, 1,
                [.paused, .waiting, .waiting, .waiting, .cancelled, .waiting]
            ),
            (
                #""action":"cancel","filter":{"batch":"list"}"#, 4,
                [.cancelled, .cancelled, .cancelled, .cancelled, .cancelled, .waiting]
            ),
            (
                #""action":"retry","filter":{"name":"SONG-3"}"#, 1,
                [.cancelled, .cancelled, .cancelled, .waiting, .cancelled, .waiting]
            ),
            (
                #""action":"cancel","filter":{"state":"done"}"#, 0,
                [.cancelled, .cancelled, .cancelled, .waiting, .cancelled, .waiting]
            ),
            (
                #""action":"prioritize","priority":9,"filter":{}"#, 2,
                [.cancelled, .cancelled, .cancelled, .waiting, .cancelled, .waiting]
            ),
            (
                #""action":"remove","filter":{"state":"cancelled","host":"a.example"}"#, 3,
                [.waiting, .cancelled, .waiting]
            ),
            (#""action":"remove","filter":{}"#, 1, [.waiting, .waiting]),
        ]
        for (change, affected, after) in steps {
            let before = try await states()
            #expect(try await count(change, preview: true) == affected, "\(change)")
            #expect(try await states() == before, "\(change)")
            #expect(try await count(change, preview: false) == affected, "\(change)")
            #expect(try await states() == after, "\(change)")
        }
        #expect(try await scene.downloads.downloads(.all).map(\.request.priority) == [9, 9])
    }

    @Test func `a user's change leaves the download to the others`() async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue([scene.request(1, user: "ann")], batch: "x")
        try await scene.downloads.enqueue([scene.request(1, user: "ben")])
        _ = try await scene.json(
            .post, "/api/v1/changes", #"{"action":"cancel","filter":{"user":"ann","host":"a.example"}}"#)
        let download = try #require(try await scene.downloads.downloads(.all).first)
        #expect(download.state == .waiting)
        #expect(download.members.map(\.user) == ["ben"])
    }

    @Test func `pages of a list follow one another`() async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue((0..<7).map { scene.request($0) })
        var names: [String] = []
        var after: String?
        repeat {
            let query = "?state=waiting&limit=3" + (after.map { "&after=\($0)" } ?? "")
            let page = try await scene.json("/api/v1/downloads\(query)")
            names += (page["downloads"] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
            after = page["next"] as? String
        } while after != nil
        #expect(names == (0..<7).map { "song-\($0).mp3" })
    }

    @Test func `a stream has the events, and begins after the one that the client has`() async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue((0..<3).map { scene.request($0) })
        let fields = HTTPFields([HTTPField(name: HTTPField.Name("Last-Event-ID")!, value: "1")])
        let response = await scene.response(.get, "/api/v1/stream", headerFields: fields)
        #expect(response.head.headerFields[.contentType] == "text/event-stream")
        guard case .stream(let stream) = response.body else { throw PageScene.Failed() }
        var pieces = stream.makeAsyncIterator()
        #expect(try await pieces.next() == Data("retry: 2000\n\n".utf8))
        let missed = String(decoding: try #require(try await pieces.next()), as: UTF8.self)
        #expect(missed.hasPrefix("id: 3\nevent: change\ndata: {"))
        #expect(missed.contains(#""id":2,"kind":"added""#) && missed.contains(#""id":3,"kind":"added""#))
        #expect(!missed.contains(#""id":1,"#))
        try await scene.downloads.cancel(.ids([QueuedDownload.ID(rawValue: 2)]))
        var text = ""
        while !text.contains(#""kind":"cancelled""#) {
            text = String(decoding: try #require(try await pieces.next()), as: UTF8.self)
        }
        #expect(text.contains(#""cancelled":1,"#))
    }

    @Test func `a browser keeps the files, and asks whether they are still right`() async throws {
        let scene = PageScene()
        let first = await scene.response(.get, "/page.js")
        let tag = try #require(first.head.headerFields[.eTag])
        let again = await scene.response(.get, "/page.js", headerFields: [.ifNoneMatch: tag])
        #expect(again.head.status == .notModified)
        guard case .data(let data) = again.body else { throw PageScene.Failed() }
        #expect(data.isEmpty)
    }

    @Test func `a page at another path has links below it, and nothing outside`() async throws {
        let scene = PageScene(.init(basePath: "/queue"))
        #expect(await scene.response(.get, "/queue").head.headerFields[.location] == "/queue/")
        let html = try await scene.text("/queue/")
        #expect(html.contains("href=\"/queue/page.css\""))
        #expect(!html.contains("href=\"/page.css\""))
        for path in ["/", "/page.css", "/queueing/", "/api/v1/queue"] {
            #expect(await scene.response(.get, path).head.status == .notFound, "\(path)")
        }
    }

    @Test func `the queue's errors are responses`() async throws {
        let scene = PageScene()
        try await scene.downloads.close()
        let response = await scene.response(.get, "/api/v1/queue")
        #expect(response.head.status == .serviceUnavailable)
    }

    @Test func `a page with a hundred downloads has at most 60 kB`() async throws {
        let scene = PageScene()
        try await scene.downloads.enqueue(
            (0..<300).map { scene.request($0, user: "ann") }, batch: "the top 500 of 2026")
        let size = try await scene.text("/").utf8.count
        #expect(size < 60_000, "\(size)")
    }
}
