import Foundation
import HTTPTypes
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

/// Whose response a request gets.
@Suite struct `Responses of others` {
    /// A server that answers with the value of a request field.
    private static func echo(_ name: HTTPField.Name, _ fields: HTTPFields = [.cacheControl: "max-age=60"])
        -> ClosureTransport
    {
        ClosureTransport { request, _ in .bytes(Data((request.headerFields[name] ?? "none").utf8), fields) }
    }

    @Test(arguments: [nil, "Authorization", "Accept"])
    func `another Authorization never gets the response, from no stage`(vary: String?) async throws {
        try await withDirectory { directory in
            var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"same for all\""]
            fields[.vary] = vary
            let transport = Self.echo(.authorization, fields)
            for round in 1...2 {
                try await withCache(in: directory, transport) { cache in
                    for user in ["ann", "ben", nil, "ann", "ben", nil] {
                        var request = TransportRequest(url("a"))
                        request.headerFields[.authorization] = user
                        let response = try await cache.response(for: request)
                        #expect(response.body == Data((user ?? "none").utf8))
                    }
                    // Without Vary, the server has said that the response to a request without the field is for all users.
                    let eve = TransportRequest(url("a"), headerFields: [.authorization: "eve\(round)"])
                    let response = try await cache.response(for: eve)
                    #expect(response.body == Data((vary == "Authorization" ? "eve\(round)" : "none").utf8))
                    try await expect(Data("none".utf8), from: cache, url("a"))
                }
            }
            #expect(transport.requests.values.count == (vary == "Authorization" ? 5 : 3))
        }
    }

    @Test func `the tag of another user's response isn't sent`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { request, _ in
                request.headerFields[.ifNoneMatch] == nil
                    ? .bytes(
                        Data((request.headerFields[.authorization] ?? "none").utf8),
                        [.cacheControl: "no-cache", .eTag: "\"a\""])
                    : .response(status: .notModified, headerFields: [.eTag: "\"a\""])
            }
            try await withCache(in: directory, transport) { cache in
                for (user, source) in [
                    ("ann", CachedResponse.Source.network), ("ben", .network), ("ann", .validated), ("ben", .validated),
                ] {
                    let request = TransportRequest(url("a"), headerFields: [.authorization: user])
                    let response = try await cache.response(for: request)
                    #expect(response.body == Data(user.utf8) && response.source == source)
                }
            }
        }
    }

    @Test func `the response to a URL with a user name is stored for no request`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { request, _ in .bytes(Data((request.url.user() ?? "none").utf8)) }
            try await withCache(in: directory, transport) { cache in
                for user in ["ann", "ben", "ann"] {
                    let own = URL(string: "http://\(user):secret@example.test/a")!
                    #expect(try await cache.response(for: TransportRequest(own)).body == Data(user.utf8))
                }
                try await expectConsistent(cache, entries: 0)
                try await expect(Data("none".utf8), from: cache, url("a"))
                #expect(transport.requests.values.count == 4)
            }
        }
    }

    @Test func `what a reply reflects is separated by the fields that Vary names, and by no others`() async throws {
        let host = HTTPField.Name("X-Forwarded-Host")!
        for (vary, expected) in [("X-Forwarded-Host", "none"), ("Accept", "evil.test")] {
            try await withDirectory { directory in
                let transport = Self.echo(host, [.cacheControl: "max-age=60", .vary: vary])
                try await withCache(in: directory, transport) { cache in
                    let poisoned = TransportRequest(url("a"), headerFields: [host: "evil.test"])
                    #expect(try await cache.response(for: poisoned).body == Data("evil.test".utf8))
                    let response = try await cache.response(for: TransportRequest(url("a")))
                    // Without Vary, the server has said that all requests get this response.
                    #expect(response.body == Data(expected.utf8))
                }
            }
        }
    }

    @Test func `cookies are returned with the stored response, each on its line`() async throws {
        try await withDirectory { directory in
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            for cookie in ["a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "b=2"] {
                fields.append(HTTPField(name: .setCookie, value: cookie))
            }
            let transport = ClosureTransport { [fields] _, _ in .bytes(pattern(10), fields) }
            for source in [CachedResponse.Source.network, .disk] {
                try await withCache(in: directory, transport) { cache in
                    let response = try await cache.response(for: TransportRequest(url("a")))
                    #expect(response.source == source)
                    #expect(response.headerFields[values: .setCookie] == fields[values: .setCookie])
                }
            }
        }
    }

    @Test(arguments: [HTTPField.Name.location, .contentLocation], [HTTPRequest.Method.post, .put, .delete])
    func `another origin's responses aren't removed or stored`(
        name: HTTPField.Name, method: HTTPRequest.Method
    ) async throws {
        try await withDirectory { directory in
            let others = ["http://other.test/a", "https://example.test/a", "http://example.test:81/a"]
            let transport = ClosureTransport { request, number in
                guard request.method != .get else { return .bytes(pattern(10, seed: number)) }
                let other = request.headerFields[.accept] ?? ""
                return .bytes(pattern(10), [.cacheControl: "max-age=60", name: other])
            }
            try await withCache(in: directory, transport) { cache in
                for (number, other) in others.enumerated() {
                    let other = URL(string: other)!
                    try await expect(pattern(10, seed: 2 * number + 1), from: cache, other)
                    let unsafe = TransportRequest(
                        url("b"), method: method, headerFields: [.accept: other.absoluteString])
                    _ = try await cache.response(for: unsafe)
                    try await expect(pattern(10, seed: 2 * number + 1), from: cache, other)
                }
                try await expectConsistent(cache, entries: others.count)
            }
        }
    }

    @Test func `a Content-Location gives the response no other URL`() async throws {
        try await withDirectory { directory in
            let transport = ClosureTransport { _, number in
                .bytes(pattern(10, seed: number), [.cacheControl: "max-age=60", .contentLocation: "/b"])
            }
            try await withCache(in: directory, transport) { cache in
                try await expect(pattern(10, seed: 1), from: cache, url("a"))
                try await expect(pattern(10, seed: 2), from: cache, url("b"))
                try await expect(pattern(10, seed: 1), from: cache, url("a"))
            }
        }
    }
}
