import Foundation
import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@Suite struct `Hostile values for SluiceDownloads` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory
            .appending(path: "sluice-hostile-downloads-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for SluiceDownloads`.calls, rounds: 60, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test(arguments: traps.indices)
    func `a programming error traps`(index: Int) async {
        await #expect(processExitsWith: .failure, "\(Self.traps[index].reason)") { [index] in
            try await `Hostile values for SluiceDownloads`.traps[index].body()
        }
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("SluiceDownloads", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    /// The preconditions of the documentation.
    static let traps: [(reason: String, body: @Sendable () async throws -> Void)] = [
        ("a coordinator runs at least one download", { _ = DownloadCoordinator.Limits(total: 0) }),
        ("a host has at least one download", { _ = DownloadCoordinator.Limits(perHost: 0) }),
        ("a user has at least one download", { _ = DownloadCoordinator.Limits(perUser: 0) }),
        ("a circuit breaker counts to one at least", { _ = DownloadCoordinator.CircuitBreaker(maximumFailures: 0) }),
        (
            "changed limits are at least 1",
            {
                var limits = DownloadCoordinator.Limits()
                limits.total = -1
                _ = DownloadCoordinator(limits: limits)
            }
        ),
        ("a rate is at least 1", { DownloadCoordinator().setMaximumRate(0) }),
        ("a rate per host is at least 1", { DownloadCoordinator().setMaximumRate(nil, perHost: -1) }),
        ("a queue's rate is at least 1", { try? await DownloadCoordinator().setQueueRates(.init(total: 0)) }),
        ("a file has at least one segment", { _ = DownloadCoordinator.Segments(count: 0) }),
        ("a segment has at least one byte", { _ = DownloadCoordinator.Segments(count: 1, minimumSize: 0) }),
        ("a minimum rate is at least 1", { _ = DownloadCoordinator.MinimumRate(bytesPerSecond: 0, over: .seconds(1)) }),
        ("its period is at least 1 ms", { _ = DownloadCoordinator.MinimumRate(bytesPerSecond: 1, over: .zero) }),
        (
            "the directory of records is a file URL",
            { _ = DownloadRecords(in: URL(string: "https://example.com/")!) }
        ),
        (
            "a configured rate is at least 1",
            {
                var configuration = DownloadCoordinator.Configuration()
                configuration.maximumRate = 0
                _ = DownloadCoordinator(configuration: configuration)
            }
        ),
        (
            "the directory of a request is a file URL",
            { _ = DownloadRequest(URL(filePath: "/"), to: URL(string: "https://example.com/")!) }
        ),
        (
            "the file of a request is a file URL",
            { _ = DownloadRequest(URL(filePath: "/"), as: URL(string: "https://example.com/a")!) }
        ),
        (
            "the directory of a coordinator is a file URL",
            {
                var configuration = DownloadCoordinator.Configuration()
                configuration.directory = URL(string: "https://example.com/")!
                _ = DownloadCoordinator(configuration: configuration)
            }
        ),
    ]

    /// An empty directory, and coordinators that have no server.
    struct Place: Sendable {
        let directory: URL

        static func with(_ body: (Place) async throws -> Void) async throws {
            let directory = FileManager.default.temporaryDirectory.appending(
                path: "sluice-hostile-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: directory) }
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try await body(Place(directory: directory))
        }

        func coordinator(_ configuration: DownloadCoordinator.Configuration = .init()) -> DownloadCoordinator {
            DownloadCoordinator(transport: ScriptedTransport([:]), configuration: configuration)
        }
    }

    private static func inPlace(
        _ name: String, _ body: @escaping @Sendable (Place, inout HostileValues) async throws -> Void
    ) -> HostileCall {
        HostileCall(name) { values in
            var inner = values
            defer { values = inner }
            try await Place.with { try await body($0, &inner) }
        }
    }

    /// A queue with three downloads.
    private static func queued(
        _ name: String, _ body: @escaping @Sendable (DownloadCoordinator, inout HostileValues) async throws -> Void
    ) -> HostileCall {
        inPlace(name) { place, values in
            let downloads = place.coordinator()
            for index in 0..<3 {
                let url = URL(string: "https://example.com/\(index)")!
                try await downloads.enqueue(DownloadRequest(url, to: place.directory, user: values.text()))
            }
            var inner = values
            defer { values = inner }
            do { try await body(downloads, &inner) } catch {
                try await downloads.close()
                throw error
            }
            try await downloads.close()
        }
    }

    /// Foundation itself doesn't print dates that aren't finite.
    private static func date(_ values: inout HostileValues) -> Date {
        Date(timeIntervalSince1970: values.one(of: [0, -1, 1e9, -1e9, 1e11, -1e11]))
    }

    private static func request(_ values: inout HostileValues, in directory: URL) -> DownloadRequest {
        DownloadRequest(
            values.url(), to: directory, name: values.one(of: [nil, values.text()]),
            user: values.one(of: [nil, values.text()]), priority: values.int())
    }

    private static func download(_ values: inout HostileValues) -> QueuedDownload {
        QueuedDownload(
            id: .init(rawValue: values.int64()), request: request(&values, in: URL(filePath: "/tmp")),
            members: [.init(user: values.text(), batch: values.text(), priority: values.int())],
            state: values.one(of: QueuedDownload.State.allCases), failureCount: values.int(), fileSize: values.int64(),
            error: TransferError(.stalled, url: values.url(), detail: values.text()),
            notBefore: date(&values))
    }

    private static func selection(_ values: inout HostileValues) -> QueuedDownload.Selection {
        let ids = (0..<3).map { _ in QueuedDownload.ID(rawValue: values.int64()) }
        return values.one(of: [
            .all, .state(values.one(of: QueuedDownload.State.allCases)), .batch(values.text()), .host(values.text()),
            .ids(ids), .user(values.text()), .user(values.text(), ids: ids),
        ])
    }

    private static func snapshot(_ values: inout HostileValues) -> QueueSnapshot {
        QueueSnapshot(
            counts: [.waiting: values.int(), .running: values.int()],
            running: [
                .init(download: download(&values), receivedBytes: values.int64(), totalBytes: values.int64()),
                .init(download: download(&values), receivedBytes: values.int64()),
            ],
            waiting: [download(&values)], ended: [download(&values)],
            hosts: [.init(name: values.text(), notBefore: date(&values))])
    }

    /// Checks that a request's names are safe, and that it can be printed, compared and encoded.
    private static func check(_ request: DownloadRequest) throws {
        guard SafeFileName.isSafe(request.name) else { fatalError("'\(request.name)' isn't safe.") }
        _ = (request.description, request.target, request.host, request.hashValue, request.unresolvedID)
        let decoded = try JSONDecoder().decode(DownloadRequest.self, from: JSONEncoder().encode(request))
        guard decoded.name == request.name else { fatalError("'\(decoded.name)' isn't '\(request.name)'.") }
    }

    static let calls: [HostileCall] = requests + queues + values + decoding

    // MARK: Requests

    private static let requests: [HostileCall] = [
        HostileCall("DownloadRequest.init(_:to:name:headerFields:user:priority:)") { values in
            try check(request(&values, in: URL(filePath: "/tmp")))
        },
        HostileCall("DownloadRequest.init(_:as:headerFields:user:priority:)") { values in
            let file = URL(filePath: "/tmp").appending(path: values.text())
            try check(DownloadRequest(values.url(), as: file, user: values.text(), priority: values.int()))
        },
        HostileCall("DownloadRequest.init(_:below:name:headerFields:user:priority:)") { values in
            try check(
                DownloadRequest(
                    values.url(), below: values.text(), name: values.text(), user: values.text(), priority: values.int()
                ))
        },
        HostileCall("DownloadRequest.init(resolving:host:below:name:user:priority:)") { values in
            try check(
                DownloadRequest(
                    resolving: values.text(), host: values.text(), below: values.text(),
                    name: values.one(of: [nil, values.text()]), user: values.text(), priority: values.int()))
        },
        HostileCall("DownloadRequest.init(resolving:host:to:name:user:priority:)") { values in
            let id = values.text()
            let request = DownloadRequest(
                resolving: id, host: values.one(of: [nil, values.text()]), to: URL(filePath: "/tmp"),
                name: values.one(of: [nil, values.text()]), user: values.text(), priority: values.int())
            guard request.unresolvedID == id else { fatalError("The identifier is \(request.unresolvedID ?? "nil").") }
            try check(request)
        },
        HostileCall("Metalink.init(parsing:)") { values in
            let text = String(decoding: values.bytes(), as: UTF8.self)
            let file =
                "<file name='\(text)'><size>\(values.int64())</size><url priority='\(values.int())'>\(text)</url>"
            let start = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>"
            for document in [text, start + file + "</file></metalink>", start + text] {
                _ = try? Metalink(parsing: Data(document.utf8))
            }
        },
        HostileCall("Metalink.requests(to:)") { values in
            let file =
                "<file name='\(values.one(of: ["a", "b/c"]))'><url>\(values.text())</url><url>http://a.example/</url></file>"
            let document = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>\(file)</metalink>"
            for request in try Metalink(parsing: Data(document.utf8)).requests(to: URL(filePath: values.text())) {
                try check(request)
            }
        },
        HostileCall("DownloadRequest.isSafePath(_:)") { _ = DownloadRequest.isSafePath($0.text()) },
        HostileCall("DownloadResolution.init(url:headerFields:)") { _ = DownloadResolution(url: $0.url()).hashValue },
    ]

    // MARK: Queues

    private static let queues: [HostileCall] = [
        inPlace("DownloadCoordinator.download(_:to:onEvent:)") { place, values in
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            let directory = place.directory.appending(path: values.text().replacing("/", with: ""))
            _ = try await place.coordinator(configuration).download(values.url(), to: directory)
        },
        inPlace("DownloadCoordinator.stream(_:headerFields:checksum:onEvent:to:)") { place, values in
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            _ = try await place.coordinator(configuration).stream(values.url()) { _ in }
        },
        inPlace("DownloadCoordinator.enqueue(_:batch:keepsFinished:)") { place, values in
            let downloads = place.coordinator()
            for _ in 0..<5 {
                let request = request(&values, in: place.directory)
                _ = try? await downloads.enqueue(
                    request, batch: values.one(of: [nil, values.text()]), keepsFinished: values.one(of: [true, false]))
            }
            _ = try await downloads.snapshot()
            try await downloads.close()
        },
        queued("DownloadCoordinator.cancel(_:waits:)") { downloads, values in
            _ = try await downloads.cancel(selection(&values))
            _ = try await downloads.snapshot()
        },
        queued("DownloadCoordinator.pause(_:waits:)") { downloads, values in
            _ = try await downloads.pause(selection(&values))
            _ = try await downloads.snapshot()
        },
        queued("DownloadCoordinator.resume(_:)") { downloads, values in
            _ = try await downloads.resume(selection(&values))
            _ = try await downloads.snapshot()
        },
        queued("DownloadCoordinator.retry(_:)") { downloads, values in
            _ = try await downloads.retry(selection(&values))
            _ = try await downloads.snapshot()
        },
        queued("DownloadCoordinator.remove(_:)") { downloads, values in
            _ = try await downloads.remove(selection(&values))
            _ = try await downloads.snapshot()
        },
        queued("DownloadCoordinator.events(after:)") { downloads, values in
            let last = try await downloads.snapshot().cursor
            let events = downloads.events(after: values.one(of: [nil, .init(rawValue: values.int64())]))
            // The sequence doesn't end, and has no event after the last one.
            let reading = Task { for try await event in events where event.id >= last { break } }
            for _ in 0..<20 { await Task.yield() }
            reading.cancel()
            _ = await reading.result
        },
        queued("DownloadCoordinator.waitUntilStopped(_:)") { downloads, values in
            try await downloads.waitUntilStopped((0..<3).map { _ in .init(rawValue: values.int64()) })
        },
        queued("DownloadCoordinator.downloads(_:after:maximumCount:)") { downloads, values in
            _ = try await downloads.downloads(
                selection(&values), after: values.one(of: [nil, .init(rawValue: values.int64())]),
                maximumCount: values.int())
        },
        queued("DownloadCoordinator.prioritize(_:priority:)") { downloads, values in
            _ = try await downloads.prioritize(.all, priority: values.int())
            _ = try await downloads.prioritize(.user(values.text()), priority: values.int())
            _ = try await downloads.snapshot()
        },
        queued("DownloadCoordinator.setQueueRates(_:)") { downloads, values in
            let rates = DownloadCoordinator.MaximumRates(total: values.int(from: 1), perHost: values.int(from: 1))
            try await downloads.setQueueRates(rates)
            let stored = try await downloads.queueRates()
            #expect(stored == rates)
        },
        HostileCall("DownloadCoordinator.MaximumRates.init(total:perHost:)") { values in
            let rates = DownloadCoordinator.MaximumRates(total: values.int(), perHost: values.int())
            #expect(SharedRates(rates, otherWorkers: values.int()).share.total ?? 0 >= 1)
        },
        queued("DownloadCoordinator.prune(olderThan:keeping:)") { downloads, values in
            try await downloads.cancel(.all)
            try await downloads.prune(olderThan: values.duration(), keeping: values.int(from: 0))
        },
        queued("DownloadCoordinator.snapshot(listing:)") { _ = try await $0.snapshot(listing: $1.int(from: 0)) },
        queued("DownloadCoordinator.snapshots(listing:)") { downloads, values in
            for try await _ in downloads.snapshots(listing: values.int(from: 0)) { break }
        },
        queued("DownloadList.init(_:listing:)") { downloads, values in
            let count = values.int(from: 0)
            let list = await DownloadList(downloads, listing: count)
            _ = await list.openCount
        },
        inPlace("DownloadStore.sqlite(at:using:)") { place, values in
            let name = values.text().replacing("/", with: "")
            let downloads = DownloadCoordinator(store: .sqlite(at: place.directory.appending(path: name)))
            _ = try? await downloads.snapshot()
            try await downloads.close()
            let other = DownloadCoordinator(store: .sqlite(at: URL(string: "https://example.com/\(values.int())")!))
            _ = try await other.snapshot()
        },
    ]

    // MARK: Values

    private static let values: [HostileCall] = [
        HostileCall("DownloadCoordinator.ChangeReport.init(changedCount:continuingCount:stopping:unknown:)") {
            _ = DownloadCoordinator.ChangeReport(changedCount: $0.int(), continuingCount: $0.int())
        },
        inPlace("DownloadCoordinator.CircuitBreaker.init(maximumFailures:pause:patience:)") { place, values in
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            configuration.circuitBreaker = .init(
                maximumFailures: values.int(from: 1), pause: values.duration(), patience: .zero)
            let requests = (0..<3).map { index in
                DownloadRequest(URL(string: "https://example.com/\(index)")!, to: place.directory)
            }
            _ = try await place.coordinator(configuration).download(requests)
        },
        inPlace(
            "DownloadCoordinator.Configuration.init(retries:circuitBreaker:directory:existing:durability:lease:maximumHistoryAge:maximumHistoryCount:headerFields:)"
        ) { place, values in
            let configuration = DownloadCoordinator.Configuration(
                retries: RetryPolicy(maximumRetries: 0), circuitBreaker: nil, directory: place.directory,
                lease: values.duration(), maximumHistoryAge: values.duration(), maximumHistoryCount: values.int(from: 0)
            )
            let url = URL(string: "https://example.com/a")!
            _ = try await place.coordinator(configuration).download(url, to: place.directory)
        },
        inPlace("DownloadCoordinator.MinimumRate.init(bytesPerSecond:over:)") { place, values in
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            configuration.minimumRate = .init(
                bytesPerSecond: values.int(from: 1), over: max(values.duration(), .milliseconds(1)))
            _ = try await place.coordinator(configuration).download(values.url(), to: place.directory)
        },
        inPlace("DownloadCoordinator.Segments.init(count:minimumSize:)") { place, values in
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            configuration.segments = .init(count: values.int(from: 1), minimumSize: Int64(values.int(from: 1)))
            _ = try await place.coordinator(configuration).download(values.url(), to: place.directory)
        },
        inPlace("DownloadRecords.init(in:maximumAge:using:)") { place, values in
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            let state = place.directory.appending(path: values.text().replacing("/", with: ""))
            configuration.records = DownloadRecords(in: state, maximumAge: values.duration())
            for _ in 0..<2 {
                _ = try await place.coordinator(configuration).download([request(&values, in: place.directory)])
            }
        },
        inPlace("DownloadVerifier.verify(_:onFinding:)") { place, values in
            let name = values.text().replacing("/", with: "")
            try? values.bytes().withUnsafeBytes {
                try Data($0).write(to: place.directory.appending(path: "SHA256SUMS"))
            }
            try? Data(values.bytes()).write(to: place.directory.appending(path: name))
            // A text may name the root of the file system.
            let other = values.url()
            _ = try await DownloadVerifier(records: DownloadRecords(in: place.directory)).verify(
                [place.directory, other.isFileURL ? place.directory : other])
        },
        inPlace("DownloadCoordinator.Limits.init(total:perHost:perUser:)") { place, values in
            let limits = DownloadCoordinator.Limits(
                total: values.int(from: 1), perHost: values.one(of: [nil, values.int(from: 1)]),
                perUser: values.one(of: [nil, values.int(from: 1)]))
            var configuration = DownloadCoordinator.Configuration()
            configuration.retries.maximumRetries = 0
            let downloads = DownloadCoordinator(
                transport: ScriptedTransport([:]), limits: limits, configuration: configuration)
            _ = try await downloads.download(URL(string: "https://example.com/a")!, to: place.directory)
        },
        HostileCall("DownloadCoordinator.setMaximumRate(_:perHost:)") { values in
            DownloadCoordinator().setMaximumRate(
                values.int(from: 1), perHost: values.one(of: [nil, values.int(from: 1)]))
        },
        HostileCall("DownloadList.Totals.init(receivedBytes:totalBytes:bytesPerSecond:timeLeft:)") { values in
            let totals = DownloadList.Totals(
                receivedBytes: values.int64(), totalBytes: values.one(of: [nil, values.int64()]),
                bytesPerSecond: values.int64(), timeLeft: values.duration())
            guard (0...1).contains(totals.fractionCompleted ?? 0) else { fatalError("\(totals)") }
        },
        HostileCall("QueueEvent.Cursor.init(rawValue:)") { _ = QueueEvent.Cursor(rawValue: $0.int64()).hashValue },
        HostileCall("QueueEvent.Kind.init(rawValue:)") { _ = QueueEvent.Kind(rawValue: $0.text()) },
        HostileCall("QueueEvent.init(id:time:download:kind:user:batch:fileSize:message:)") { values in
            let event = QueueEvent(
                id: .init(rawValue: values.int64()), time: date(&values),
                download: .init(rawValue: values.int64()), kind: .init(rawValue: values.text()), user: values.text(),
                batch: values.text(), fileSize: values.int64(), message: values.text())
            _ = ("\(event)", event.hashValue, try JSONEncoder().encode(event))
        },
        HostileCall("QueueSnapshot.Host.init(name:notBefore:isUnreachable:)") {
            _ = QueueSnapshot.Host(name: $0.text(), notBefore: date(&$0))
        },
        HostileCall("DownloadProgress.init(receivedBytes:totalBytes:)") { values in
            let progress = DownloadProgress(
                receivedBytes: values.int64(), totalBytes: values.one(of: [nil, values.int64()]))
            guard (0...1).contains(progress.fractionCompleted ?? 0) else { fatalError("\(progress)") }
        },
        HostileCall("QueueSnapshot.Running.init(download:receivedBytes:totalBytes:)") { values in
            let running = QueueSnapshot.Running(
                download: download(&values), receivedBytes: values.int64(),
                totalBytes: values.one(of: [nil, values.int64()]))
            guard (0...1).contains(running.fractionCompleted ?? 0) else { fatalError("\(running)") }
        },
        HostileCall("QueueSnapshot.init(counts:running:waiting:paused:ended:hosts:cursor:)") { values in
            let snapshot = snapshot(&values)
            let list = await DownloadList(showing: snapshot)
            _ = (await list.totals, await list.openCount, snapshot.count(in: .failed))
            _ = try JSONDecoder().decode(QueueSnapshot.self, from: JSONEncoder().encode(snapshot))
        },
        HostileCall("QueuedDownload.ID.init(rawValue:)") { _ = QueuedDownload.ID(rawValue: $0.int64()).description },
        HostileCall("QueuedDownload.Member.init(user:batch:priority:isPaused:)") {
            _ = QueuedDownload.Member(user: $0.text(), batch: $0.text(), priority: $0.int())
        },
        HostileCall("QueuedDownload.init(id:request:members:state:failureCount:fileSize:error:notBefore:)") { values in
            let download = download(&values)
            _ = ("\(download)", download.hashValue, try JSONEncoder().encode(download))
        },
    ]

    // MARK: JSON

    private static let decoding: [HostileCall] = [
        decoded("DownloadRequest.init(from:)") { request(&$0, in: URL(filePath: "/tmp")) },
        decoded("QueueEvent.init(from:)") { values in
            QueueEvent(
                id: .init(rawValue: values.int64()), time: date(&values), download: .init(rawValue: values.int64()),
                kind: .init(rawValue: values.text()), user: values.text(), fileSize: values.int64())
        },
        decoded("QueueSnapshot.Host.init(from:)") { QueueSnapshot.Host(name: $0.text(), notBefore: date(&$0)) },
        decoded("QueueSnapshot.Running.init(from:)") { values in
            QueueSnapshot.Running(
                download: download(&values), receivedBytes: values.int64(), totalBytes: values.int64())
        },
        decoded("QueueSnapshot.init(from:)") { snapshot(&$0) },
        decoded("QueuedDownload.Member.init(from:)") {
            QueuedDownload.Member(user: $0.text(), batch: $0.text(), priority: $0.int())
        },
        decoded("QueuedDownload.init(from:)") { download(&$0) },
    ]

    /// Decodes damaged JSON. Values that are accepted can be printed, compared and encoded.
    private static func decoded<Value: Codable & Hashable & SendableMetatype>(
        _ name: String, _ make: @escaping @Sendable (inout HostileValues) -> Value
    ) -> HostileCall {
        HostileCall(name) { values in
            let value = make(&values)
            for _ in 0..<5 {
                let json = try values.damagedJSON(of: value)
                guard let decoded = try? JSONDecoder().decode(Value.self, from: json) else { continue }
                _ = ("\(decoded)", decoded.hashValue, try? JSONEncoder().encode(decoded))
            }
        }
    }
}
