import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceCache

@Suite struct `Redirects in the cache` {
    private static func withTransport(
        _ redirects: RedirectPolicy, _ body: (HTTPTransport) async throws -> Void
    ) async throws {
        try await HTTPTransport.withTransport(configuration: .init(redirects: redirects, proxy: .none), body)
    }

    /// `/a` redirects to `/b` with the given fields.
    private static func serve(
        _ status: Int, _ fields: HTTPFields, _ test: @Sendable (LoopbackOrigin) async throws -> Void
    ) async throws {
        try await LoopbackOrigin.serve { request in
            guard request.target == "/a" else {
                return OriginResponse(headerFields: [.cacheControl: "max-age=60"], body: Array("target".utf8))
            }
            var fields = fields
            fields[.location] = "/b"
            return OriginResponse(status: status, headerFields: fields, body: Array("moved".utf8))
        } during: { origin in
            try await test(origin)
        }
    }

    private static let modified = "Sun, 06 Nov 1994 07:49:37 GMT"

    private static let rules: [(Int, HTTPFields, Bool)] = [
        (301, [:], false), (301, [.lastModified: modified], true), (308, [.lastModified: modified], true),
        (302, [.lastModified: modified], false), (302, [.cacheControl: "max-age=60"], true),
        (303, [.cacheControl: "max-age=60"], true), (307, [.cacheControl: "max-age=60"], true),
        (301, [.cacheControl: "no-store"], false), (308, [.cacheControl: "max-age=0"], false),
    ]

    @Test(arguments: rules)
    func `one that isn't followed is stored by the rules for its status`(
        status: Int, fields: HTTPFields, isStored: Bool
    ) async throws {
        try await Self.serve(status, fields) { origin in
            try await Self.withTransport(.unfollowed) { transport in
                try await withDirectory { directory in
                    let url = try URL(fetchable: origin.url("/a"))
                    for number in 1...3 {
                        // Each time a new cache, so that the response comes from the disk.
                        try await withCache(in: directory, transport) { cache in
                            let response = try await cache.response(for: TransportRequest(url))
                            #expect(response.status.code == status && response.headerFields[.location] == "/b")
                            #expect(response.body == Data("moved".utf8))
                            #expect((response.source == .disk) == (isStored && number > 1))
                            try await expectConsistent(cache, entries: isStored ? 1 : 0)
                        }
                    }
                    #expect(origin.metrics.requestsByTarget == ["/a": isStored ? 1 : 3])
                }
            }
        }
    }

    @Test func `a stored one expires`() async throws {
        try await withDirectory { directory in
            let wall = WallClock()
            let transport = ClosureTransport { _, _ in
                .response(status: .movedPermanently, headerFields: [.location: "/b", .cacheControl: "max-age=60"])
            }
            try await withCache(in: directory, transport, wall: wall) { cache in
                for (delay, source) in [(0, CachedResponse.Source.network), (59, .memory), (1, .network)] {
                    wall.advance(Int64(delay))
                    let response = try await cache.response(for: TransportRequest(url("a")))
                    #expect(response.source == source && response.status == .movedPermanently)
                }
            }
        }
    }

    @Test func `a stored one isn't the data of its URL`() async throws {
        try await Self.serve(301, [.cacheControl: "max-age=60"]) { origin in
            try await Self.withTransport(.unfollowed) { transport in
                try await withDirectory { directory in
                    try await withCache(in: directory, transport) { cache in
                        let url = try URL(fetchable: origin.url("/a"))
                        _ = try await cache.response(for: TransportRequest(url))
                        let error = await failure { try await cache.data(for: url) } as? TransferError
                        #expect(error?.code == .status && error?.status == .movedPermanently)
                        #expect(try await !cache.contains(url))
                    }
                }
            }
        }
    }

    @Test(arguments: [ResourceCache.Configuration.Policy.http, .immutable])
    func `the response behind one that was followed is stored only for immutable URLs`(
        policy: ResourceCache.Configuration.Policy
    ) async throws {
        try await Self.serve(301, [.cacheControl: "max-age=60"]) { origin in
            try await Self.withTransport(RedirectPolicy()) { transport in
                try await withDirectory { directory in
                    try await withCache(in: directory, transport, .init(policy: policy)) { cache in
                        let url = try URL(fetchable: origin.url("/a"))
                        for _ in 0..<2 {
                            let response = try await cache.response(for: TransportRequest(url))
                            #expect(response.status == .ok && response.body == Data("target".utf8))
                        }
                        let count = policy == .immutable ? 1 : 2
                        #expect(origin.metrics.requestsByTarget == ["/a": count, "/b": count])
                        try await expectConsistent(cache, entries: policy == .immutable ? 1 : 0)
                    }
                }
            }
        }
    }
}
