import SluiceCache
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads the pictures of a document: files through `FileIO`, and those on servers through a ``ResourceCache``.
///
/// A few at a time, files and servers independently of each other: a slow server holds no file up. Whatever an address leads
/// to, it takes bounded time and memory: only regular files with something in them are opened (no FIFO, no device, nothing of
/// /proc), and there are limits for one picture and for all.
final class PictureLoader: Sendable {
    /// How much is loaded.
    struct Limits: Sendable {
        var count = 100
        var bytes = 16 << 20
        var totalBytes = 64 << 20
        /// For one picture.
        var time = Duration.seconds(30)
        var connectTime = Duration.seconds(10)
        /// How long a server may be silent.
        var stallTime = Duration.seconds(15)
        var filesAtOnce = 4
        var fetchesAtOnce = 6
    }

    /// Why a picture is not there: one line that names it and says what to do.
    struct Failure: Error, Sendable, Hashable {
        var line: String
    }

    /// What became of the picture with this number.
    struct Arrival: Sendable {
        var number: Int
        var result: Result<[UInt8], Failure>
    }

    private let limits: Limits
    private let cacheFolder: URL?
    private let files: FileIO
    private let arrived: @Sendable (Arrival) -> Void
    /// The bytes that pictures may still have together.
    private let budget: Lock<Int>

    /// - Parameters:
    ///   - cacheFolder: Where what servers send is kept; without it, nothing is fetched.
    ///   - arrived: Told of each picture, in any order and from any task.
    init(
        limits: Limits = Limits(), cacheFolder: URL?, files: FileIO = .shared,
        arrived: @escaping @Sendable (Arrival) -> Void
    ) {
        self.limits = limits
        self.cacheFolder = cacheFolder
        self.files = files
        self.arrived = arrived
        budget = Lock(limits.totalBytes)
    }

    /// Loads the pictures, whose numbers are their places in the list, and returns when the last has arrived or failed.
    ///
    /// - Cancellation: ends it at once; what has not arrived by then never does.
    func load(_ sources: [PictureSource]) async {
        var local: [(number: Int, file: URL)] = []
        var remote: [(number: Int, url: URL)] = []
        for (number, source) in sources.enumerated() {
            switch source {
            case _ where number >= limits.count:
                fail(number, "the document has more than \(limits.count) pictures; the first \(limits.count) are shown")
            case .local(let file): local.append((number, file))
            case .remote(let url): remote.append((number, url))
            case .refused(let why): fail(number, why)
            }
        }
        let (waiting, fetched) = (local, remote)
        async let read: Void = self.read(waiting)
        async let fetch: Void = self.fetch(fetched)
        _ = await (read, fetch)
    }

    // MARK: Files

    private func read(_ pictures: [(number: Int, file: URL)]) async {
        try? await pictures.concurrentForEach(concurrency: limits.filesAtOnce) { number, file in
            try await self.deliver(number, named: file.path(percentEncoded: false)) {
                try await self.read(file)
            }
        }
    }

    private func read(_ file: URL) async throws -> Data {
        let path = file.path(percentEncoded: false)
        guard let status = try await files.status(of: file) else {
            throw Failure(
                line: "'\(path)': there is no such file; check the path, it begins at the document's directory")
        }
        guard status.kind == .file else {
            throw Failure(line: "'\(path)' is no regular file; name one with a picture in it")
        }
        // A file of /proc seems empty too, and some of those block whoever reads them.
        guard status.size > 0 else { throw Failure(line: "'\(path)' is empty; put a picture there") }
        guard status.size <= Int64(limits.bytes) else { throw tooLarge("'\(path)'") }
        return try await Data(asyncContentsOf: file, limit: limits.bytes, using: files)
    }

    // MARK: Servers

    private func fetch(_ pictures: [(number: Int, url: URL)]) async {
        guard !pictures.isEmpty else { return }
        guard let cacheFolder else {
            for (number, url) in pictures {
                fail(number, "\(url.redactedForDisplay): there is no folder for the cache; set HOME or XDG_CACHE_HOME")
            }
            return
        }
        let configuration = ResourceCache.Configuration(
            concurrency: limits.fetchesAtOnce, maximumMemorySize: 0, maximumDiskSize: 256 << 20,
            maximumDiskEntrySize: limits.bytes,
            maximumResponseSize: limits.bytes, retries: RetryPolicy(maximumRetries: 1, maximumRetryAfter: .seconds(5)))
        let transport = HTTPTransport.Configuration(
            connectTimeout: limits.connectTime, stallTimeout: limits.stallTime,
            userAgent: "sluice/\(SluiceVersion.current) (show)")
        do {
            try await HTTPTransport.withTransport(configuration: transport) { transport in
                try await withResourceCache(
                    directory: cacheFolder, configuration: configuration, transport: transport, using: files
                ) { cache in
                    try await pictures.concurrentForEach(concurrency: limits.fetchesAtOnce) { number, url in
                        try await self.deliver(number, named: url.redactedForDisplay) {
                            do {
                                return try await cache.data(for: url)
                            } catch let error as TransferError {
                                if error.code == .responseTooLarge { throw self.tooLarge(url.redactedForDisplay) }
                                throw error
                            }
                        }
                    }
                }
            }
        } catch {
            // The cache could not be opened. (What cancellation leaves is asked for by nobody.)
            guard !Task.isCancelled else { return }
            for (number, url) in pictures { fail(number, "\(url.redactedForDisplay): \(error)") }
        }
    }

    // MARK: Either

    /// Reports what a picture's loading comes to. Throws only if it was cancelled.
    private func deliver(
        _ number: Int, named name: String, _ load: () async throws -> Data
    ) async throws {
        do {
            let data = try await withDeadline(timeout: limits.time, body: load)
            let isWithin = budget.withLock { left in
                guard data.count <= left else { return false }
                left -= data.count
                return true
            }
            guard isWithin else {
                let total = Format.bytes(Int64(limits.totalBytes))
                throw Failure(line: "\(name): the pictures have more than \(total) together; make them smaller")
            }
            arrived(Arrival(number: number, result: .success(Array(data))))
        } catch let failure as Failure {
            arrived(Arrival(number: number, result: .failure(failure)))
        } catch is DeadlineExceeded {
            let seconds = limits.time.components.seconds
            fail(number, "\(name) was not there after \(seconds) s; try again later")
        } catch  where Task.isCancelled {
            throw CancellationError()
        } catch {
            fail(number, "\(error)")
        }
    }

    private func fail(_ number: Int, _ line: String) {
        arrived(Arrival(number: number, result: .failure(Failure(line: line))))
    }

    private func tooLarge(_ name: String) -> Failure {
        Failure(line: "\(name) has more than \(Format.bytes(Int64(limits.bytes))); make the picture smaller")
    }
}
