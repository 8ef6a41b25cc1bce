import Foundation
import HTTPTypes
import SluiceCache
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@Suite struct `Hostile values for SluiceCache` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-hostile-cache-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for SluiceCache`.calls, rounds: 40, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test(arguments: traps.indices)
    func `a programming error traps`(index: Int) async {
        await #expect(processExitsWith: .failure, "\(Self.traps[index].reason)") { [index] in
            try await `Hostile values for SluiceCache`.traps[index].body()
        }
    }

    @Test func `every function that takes hostile values is called`() throws {
        var (missing, unknown) = try HostileCall.uncovered("SluiceCache", Self.calls.map(\.name))
        // The images need a trait.
        if Self.imageCalls.isEmpty { missing.removeAll { $0.contains("maximumPixelSize:") } }
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    /// The documented preconditions.
    static let traps: [(reason: String, body: @Sendable () async throws -> Void)] = [
        ("a limit isn't negative", { _ = MemoryCache<Int, Int>(maximumCost: -1, maximumCount: 1) }),
        ("a count isn't negative", { _ = MemoryCache<Int, Int>(maximumCost: 1, maximumCount: -1) }),
        (
            "a cost isn't negative",
            { MemoryCache<Int, Int>(maximumCost: 10, maximumCount: 1).insert(1, for: 1, cost: -1) }
        ),
        (
            "the cost to trim to isn't negative",
            { MemoryCache<Int, Int>(maximumCost: 10, maximumCount: 1).trim(toCost: -1) }
        ),
        ("a cache needs an exchange", { _ = ResourceCache.Configuration(concurrency: 0) }),
        ("a cache needs an exchange for each host", { _ = ResourceCache.Configuration(concurrencyPerHost: 0) }),
        ("no size is negative", { _ = ResourceCache.Configuration(maximumDiskSize: -1) }),
        (
            "a configuration is valid when a cache uses it",
            {
                var configuration = ResourceCache.Configuration()
                configuration.maximumDiskEntrySize = -1
                let directory = FileManager.default.temporaryDirectory.appending(path: "never-created-\(UUID())")
                _ = ResourceCache(directory: directory, configuration: configuration)
            }
        ),
        (
            "a key is equal to itself",
            { MemoryCache<Double, Int>(maximumCost: 10, maximumCount: 1).insert(1, for: .nan, cost: 1) }
        ),
        ("a cache isn't trimmed to a negative size", { try await withCache { try await $0.trim(toBytes: -1) } }),
        ("a fraction is a number from 0 to 1", { try await withCache { $0.trimMemory(toFraction: .nan) } }),
    ]

    static let calls: [HostileCall] = otherCalls + imageCalls

    private static let otherCalls: [HostileCall] = [
        HostileCall("MemoryCache.init(maximumCost:maximumCount:)") { _ = memory(&$0) },
        HostileCall("MemoryCache.insert(_:for:cost:)") { values in
            let cache = memory(&values)
            for _ in 0..<20 { cache.insert(values.text(), for: values.text(), cost: values.int(from: 0)) }
        },
        HostileCall("MemoryCache.trim(toCost:)") { values in
            let cache = memory(&values)
            for _ in 0..<20 { cache.insert(values.text(), for: values.text(), cost: values.int(from: 0)) }
            cache.trim(toCost: values.int(from: 0))
        },
        HostileCall("ImageHeader.init(_:)") { values in
            let beginning = values.one(
                of: [
                    [], Array("\u{89}PNG".utf8), [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13],
                    Array("GIF89a".utf8),
                    [0xFF, 0xD8, 0xFF, 0xE1], Array("RIFF\0\0\0\0WEBPVP8X".utf8),
                    [0, 0, 0, 24] + Array("ftypavif".utf8), Array("BM".utf8),
                ] as [[UInt8]])
            let bytes = beginning + values.bytes() + values.bytes()
            guard let header = ImageHeader(bytes) else { return }
            _ = (header.orientedSize, header.hashValue)
        },
        HostileCall("ImageHeader.Format.init(rawValue:)") { _ = ImageHeader.Format(rawValue: $0.text()) },
        HostileCall("EncodedImage.init(_:)") { _ = EncodedImage(Data($0.bytes())) },
        HostileCall("ResourceProgress.init(receivedBytes:totalBytes:)") { values in
            let progress = ResourceProgress(
                receivedBytes: values.int64(), totalBytes: values.one(of: [nil, values.int64()]))
            _ = progress.fractionCompleted
        },
        HostileCall(
            "ResourceCache.Configuration.init(concurrency:concurrencyPerHost:maximumMemorySize:"
                + "maximumDiskSize:maximumDiskEntrySize:maximumResponseSize:policy:verification:maximumHeuristicLifetime:retries:)"
        ) { _ = configuration(&$0) },
        HostileCall("ResourceCache.init(directory:configuration:transport:using:)") { values in
            // Below a file, so that nothing is created.
            let directory = URL(filePath: "/dev/null").appending(path: values.text())
            let cache = ResourceCache(
                directory: directory, configuration: configuration(&values), transport: ScriptedTransport([:]))
            _ = try? await cache.open()
            _ = try? await cache.data(for: values.url())
        },
        HostileCall("ResourceCache.withCache(directory:configuration:transport:using:_:)") { values in
            let directory = URL(filePath: "/dev/null").appending(path: values.text())
            try await ResourceCache.withCache(directory: directory, transport: ScriptedTransport([:])) { _ in }
        },
        HostileCall("ResourceCache.store(_:for:freshFor:)") { values in
            try await withCache(configuration(&values)) { cache in
                for _ in 0..<4 {
                    let url = values.url()
                    let isKept = try? await cache.store(Data(values.bytes()), for: url, freshFor: values.duration())
                    _ = (isKept, try? await cache.contains(url), try? await cache.data(for: url))
                }
            }
        },
        HostileCall("ResourceCache.contains(_:)") { values in
            try await withCache { _ = try await $0.contains(values.url()) }
        },
        HostileCall("ResourceCache.remove(_:)") { values in try await withCache { try await $0.remove(values.url()) } },
        HostileCall("ResourceCache.trim(toBytes:)") { values in
            try await withCache(configuration(&values)) { cache in
                _ = try? await cache.store(Data(values.bytes()), for: values.url())
                try await cache.trim(toBytes: max(0, values.int64()))
            }
        },
        HostileCall("ResourceCache.trimMemory(toFraction:)") { values in
            let fraction = values.double()
            try await withCache(configuration(&values)) { cache in
                _ = try? await cache.store(Data(values.bytes()), for: values.url())
                cache.trimMemory(toFraction: fraction >= 0 ? min(1, fraction) : 0)
            }
        },
        HostileCall("ResourceCache.data(for:headerFields:)") { values in
            let (url, answer) = (values.url(), answer(&values))
            try await withCache(configuration(&values), [url: [answer]]) { cache in
                for _ in 0..<3 { _ = try? await cache.data(for: url) }
                for _ in 0..<3 { _ = try? await cache.data(for: url, headerFields: [.acceptLanguage: values.text()]) }
            }
        },
        HostileCall("ResourceCache.response(for:mode:)") { values in
            let (url, answer) = (values.url(), answer(&values))
            try await withCache(configuration(&values), [url: [answer]]) { cache in
                for _ in 0..<3 {
                    let fields: HTTPFields = [
                        .cacheControl: values.text(), .range: values.text(), .ifNoneMatch: values.text(),
                    ]
                    _ = try? await cache.response(for: TransportRequest(url, headerFields: fields))
                }
            }
        },
        HostileCall("ResourceCache.bytes(for:mode:)") { values in
            let (url, answer) = (values.url(), answer(&values))
            try await withCache(configuration(&values), [url: [answer]]) { cache in
                let response = try await cache.bytes(
                    for: TransportRequest(url, headerFields: [.cacheControl: values.text()]))
                for try await _ in response.body {}
            }
        },
        HostileCall("ResourceCache.prefetch(_:)") { values in
            let (url, answer) = (values.url(), answer(&values))
            try await withCache([url: [answer]]) { await $0.prefetch([url, values.url()]) }
        },
        HostileCall("ResourceCache.states(of:)") { values in
            let (url, answer) = (values.url(), answer(&values))
            try await withCache([url: [answer]]) { for await _ in $0.states(of: url) {} }
        },
        HostileCall("ResourceCache.images(maximumMemorySize:)") { values in
            let (url, answer) = (values.url(), answer(&values))
            try await withCache([url: [answer]]) {
                _ = try await $0.images(maximumMemorySize: values.int(from: 0)).value(for: url)
            }
        },
        HostileCall("ResourceCache.decoded(maximumMemorySize:cost:decode:)") { _ = try await decoded(&$0) },
        HostileCall("DecodedCache.value(for:)") { _ = try await decoded(&$0) },
        HostileCall("DecodedCache.valueInMemory(for:)") { _ = try await decoded(&$0) },
        HostileCall("DecodedCache.value(for:data:)") { values in
            let (key, bytes) = (values.text(), values.bytes())
            try await withCache { cache in
                let decoded = cache.decoded(cost: { _ in 1 }, decode: { $0.count })
                _ = try await decoded.value(for: key) { Data(bytes) }
                _ = decoded.valueInMemory(for: key)
                decoded.removeValue(for: key)
            }
        },
        HostileCall("DecodedCache.removeValue(for:)") { values in
            let key = values.text()
            try await withCache { $0.decoded(cost: { _ in 1 }, decode: { $0.count }).removeValue(for: key) }
        },
        HostileCall("DecodedCache.prefetch(_:)") { _ = try await decoded(&$0) },
        HostileCall("DecodedCache.trim(toCost:)") { _ = try await decoded(&$0) },
        HostileCall("DecodedCache.states(of:)") { _ = try await decoded(&$0) },
    ]

    #if GdkPixbuf && os(Linux)
    private static let imageCalls: [HostileCall] = [
        HostileCall("PlatformImage.init(_:maximumPixelSize:)") { values in
            let (bytes, size) = (image(&values), values.int())
            guard let image = PlatformImage(bytes, maximumPixelSize: size) else { return }
            _ = (image.byteCount, image.data(as: .png))
        },
        HostileCall("ResourceCache.platformImages(maximumPixelSize:maximumMemorySize:keepsThumbnails:)") { values in
            try await images(&values)
        },
        HostileCall("DecodedCache.value(for:maximumPixelSize:)") { values in try await images(&values) },
        HostileCall("DecodedCache.value(for:maximumPixelSize:data:)") { values in try await images(&values) },
        HostileCall("DecodedCache.valueInMemory(for:maximumPixelSize:)") { values in try await images(&values) },
        HostileCall("DecodedCache.prefetch(_:maximumPixelSize:)") { values in try await images(&values) },
        HostileCall("DecodedCache.states(of:maximumPixelSize:)") { values in try await images(&values) },
    ]

    /// The beginning of an image, or a whole one with other bytes in it.
    private static func image(_ values: inout HostileValues) -> Data {
        let whole = values.one(of: [PixelImages.bmp(), PixelImages.webP, PixelImages.gif])
        return whole.prefix(values.one(of: [26, 60, .max])) + Data(values.bytes())
    }

    private static func images(_ values: inout HostileValues) async throws {
        let (url, image, key) = (values.url(), image(&values), values.text())
        let (limit, size, other) = (values.int(from: 0), values.int(), values.int())
        try await withCache([url: [.response(headerFields: [:], body: [image])]]) { cache in
            let images = cache.platformImages(maximumPixelSize: other, maximumMemorySize: limit, keepsThumbnails: true)
            _ = (try? await images.value(for: url, maximumPixelSize: size), try? await images.value(for: url))
            _ = images.valueInMemory(for: url, maximumPixelSize: other)
            _ = try? await images.value(for: key, maximumPixelSize: size) { image }
            await images.prefetch([url], maximumPixelSize: size)
            for await _ in images.states(of: url, maximumPixelSize: size) {}
        }
    }
    #else
    private static let imageCalls: [HostileCall] = []
    #endif

    private static func memory(_ values: inout HostileValues) -> MemoryCache<String, String> {
        MemoryCache(maximumCost: values.int(from: 0), maximumCount: values.int(from: 0))
    }

    private static func configuration(_ values: inout HostileValues) -> ResourceCache.Configuration {
        ResourceCache.Configuration(
            concurrency: values.int(from: 1), concurrencyPerHost: values.int(from: 1),
            maximumMemorySize: values.int(from: 0),
            maximumDiskSize: max(0, values.int64()),
            maximumDiskEntrySize: values.one(of: [nil, max(0, values.int64())]),
            maximumResponseSize: values.int(from: 0), policy: values.one(of: [.http, .immutable]),
            verification: values.one(of: [.firstRead, .always]), maximumHeuristicLifetime: values.duration(),
            retries: .never)
    }

    /// A response with hostile fields.
    private static func answer(_ values: inout HostileValues) -> ScriptedTransport.Answer {
        let fields: HTTPFields = [
            .cacheControl: values.one(of: [
                "max-age=9223372036854775807", "max-age=60, stale-if-error=99999999999", values.text(),
            ]),
            .age: values.one(of: [String(values.int64()), values.text()]), .expires: values.text(),
            .date: values.text(),
            .lastModified: values.text(), .eTag: values.text(), .vary: values.text(),
            .contentLength: String(values.int64()),
        ]
        return .response(
            status: values.one(of: [.ok, .partialContent, .notFound, .notModified]), headerFields: fields,
            body: [Data(values.bytes())])
    }

    private static func decoded(_ values: inout HostileValues) async throws {
        let (url, answer) = (values.url(), answer(&values))
        let (limit, cost, trimmed) = (values.int(from: 0), values.int(from: 0), values.int(from: 0))
        try await withCache([url: [answer]]) { cache in
            let decoded = cache.decoded(maximumMemorySize: limit, cost: { _ in cost }, decode: { $0.count })
            _ = (try? await decoded.value(for: url), decoded.valueInMemory(for: url))
            await decoded.prefetch([url])
            for await _ in decoded.states(of: url) {}
            decoded.trim(toCost: trimmed)
        }
    }

    private static func withCache(
        _ configuration: ResourceCache.Configuration = .init(retries: .never),
        _ answers: [URL: [ScriptedTransport.Answer]] = [:],
        _ body: (ResourceCache) async throws -> Void
    ) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await ResourceCache.withCache(
                directory: directory, configuration: configuration, transport: ScriptedTransport(answers), body)
        }
    }

    private static func withCache(
        _ answers: [URL: [ScriptedTransport.Answer]], _ body: (ResourceCache) async throws -> Void
    ) async throws { try await withCache(.init(retries: .never), answers, body) }
}
