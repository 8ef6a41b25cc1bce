import SluiceCache
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Loads the images of a document: files through `FileIO`, images on servers through a ``ResourceCache``.
///
/// Files and servers have separate concurrency limits, so that a slow server doesn't delay a file. Each load takes bounded time and memory:
/// only regular files that aren't empty are opened (no FIFO, no device, nothing in /proc), and there are limits for each image and for all
/// images together.
final class ImageLoader: Sendable {
    struct Limits: Sendable {
        var count = 100
        var bytes = 16 << 20
        var totalBytes = 64 << 20
        var time = Duration.seconds(30)
        var connectTime = Duration.seconds(10)
        /// The maximum time without bytes from a server.
        var stallTime = Duration.seconds(15)
        var fileConcurrency = 4
        var fetchConcurrency = 6
    }

    /// One line that names the image and says what to do.
    struct Failure: Error, Sendable, Hashable {
        var line: String
    }

    struct Arrival: Sendable {
        var number: Int
        var result: Result<[UInt8], Failure>
    }

    private let limits: Limits
    private let cacheDirectory: URL?
    private let files: FileIO
    private let arrived: @Sendable (Arrival) -> Void
    /// The number of bytes that are left of `Limits.totalBytes`.
    private let budget: Lock<Int>

    /// Without a `cacheDirectory`, nothing is fetched. `arrived` is called for each image, in any order and from any task.
    init(
        limits: Limits = Limits(), cacheDirectory: URL?, files: FileIO = .shared,
        arrived: @escaping @Sendable (Arrival) -> Void
    ) {
        self.limits = limits
        self.cacheDirectory = cacheDirectory
        self.files = files
        self.arrived = arrived
        budget = Lock(limits.totalBytes)
    }

    /// Loads the images, and returns when the last one has arrived or failed. An image's number is its index in `sources`. After
    /// cancellation, the method returns soon and leaves out the images that haven't arrived by then.
    func load(_ sources: [ImageSource]) async {
        var local: [(number: Int, file: URL)] = []
        var remote: [(number: Int, url: URL)] = []
        for (number, source) in sources.enumerated() {
            switch source {
            case _ where number >= limits.count:
                fail(
                    number,
                    "The document has more than \(limits.count) images. Only the first \(limits.count) are shown.")
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

    private func read(_ loadedImages: [(number: Int, file: URL)]) async {
        try? await loadedImages.concurrentForEach(concurrency: limits.fileConcurrency) { number, file in
            try await self.deliver(number, named: file.path(percentEncoded: false)) {
                try await self.read(file)
            }
        }
    }

    private func read(_ file: URL) async throws -> Data {
        let path = file.path(percentEncoded: false)
        guard let status = try await files.status(of: file) else {
            throw Failure(
                line: "The file '\(path)' doesn't exist. Check the path, which is relative to the document's directory."
            )
        }
        guard status.kind == .file else {
            throw Failure(line: "'\(path)' isn't a regular file. Name an image file.")
        }
        // Files in /proc have the size 0, too, and reading some of them blocks.
        guard status.size > 0 else { throw Failure(line: "'\(path)' is empty. Replace it with an image.") }
        guard status.size <= Int64(limits.bytes) else { throw tooLarge("'\(path)'") }
        return try await Data(asyncContentsOf: file, maximumSize: limits.bytes, using: files)
    }

    // MARK: Servers

    private func fetch(_ loadedImages: [(number: Int, url: URL)]) async {
        guard !loadedImages.isEmpty else { return }
        guard let cacheDirectory else {
            for (number, url) in loadedImages {
                fail(
                    number,
                    "\(url.redactedForDisplay): No cache directory could be determined. Set HOME or XDG_CACHE_HOME.")
            }
            return
        }
        let configuration = ResourceCache.Configuration(
            concurrency: limits.fetchConcurrency, maximumMemorySize: 0, maximumDiskSize: CacheLocation.maximumDiskSize,
            maximumDiskEntrySize: Int64(limits.bytes),
            maximumResponseSize: limits.bytes, retries: RetryPolicy(maximumRetries: 1, maximumRetryAfter: .seconds(5)))
        let transport = HTTPTransport.Configuration(
            connectTimeout: limits.connectTime, stallTimeout: limits.stallTime,
            userAgent: "sluice/\(SluiceVersion.current) (show)")
        do {
            try await HTTPTransport.withTransport(configuration: transport) { transport in
                try await ResourceCache.withCache(
                    directory: cacheDirectory, configuration: configuration, transport: transport, using: files
                ) { cache in
                    try await loadedImages.concurrentForEach(concurrency: limits.fetchConcurrency) { number, url in
                        try await self.deliver(number, named: url.redactedForDisplay) {
                            do {
                                return try await cache.data(for: url)
                            } catch let error as TransferError {
                                if error.code == .responseTooLarge { throw self.tooLarge(url.redactedForDisplay) }
                                throw error
                            }
                        }
                    }
                    await cache.finishValidations(within: .seconds(2))
                }
            }
        } catch {
            // The cache couldn't be opened. After cancellation, no task reads the results.
            guard !Task.isCancelled else { return }
            for (number, url) in loadedImages { fail(number, "\(url.redactedForDisplay): \(error)") }
        }
    }

    // MARK: Results

    /// Throws only if the task is cancelled.
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
                throw Failure(line: "\(name): The images are larger than \(total) in total. Make them smaller.")
            }
            arrived(Arrival(number: number, result: .success(Array(data))))
        } catch let failure as Failure {
            arrived(Arrival(number: number, result: .failure(failure)))
        } catch is DeadlineExceeded {
            let seconds = limits.time.components.seconds
            fail(number, "\(name) didn't arrive within \(seconds) s. Try again later.")
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
        Failure(line: "\(name) is larger than \(Format.bytes(Int64(limits.bytes))). Make the image smaller.")
    }
}

// MARK: - Addresses

/// The address of an image in a document. The document isn't trusted.
///
///     ImageSource("img/a%20b.png", besides: "notes/readme.md")   // .local: notes/img/a b.png
enum ImageSource: Sendable, Hashable {
    /// `?…` and `#…` are dropped. The path is absolute or relative to the document's directory.
    case local(URL)
    case remote(URL)
    /// A message that says why the address is unusable.
    case refused(String)

    var isRemote: Bool { if case .remote = self { true } else { false } }

    /// For messages, without the secrets of a URL.
    var name: String {
        switch self {
        case .local(let file): "'\(file.path(percentEncoded: false))'"
        case .remote(let url): url.redactedForDisplay
        case .refused(let why): why
        }
    }

    /// `document` is the path of the document; `-` means a document in the working directory.
    init(_ source: String, besides document: String) {
        let scheme = source.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
        if source.dropFirst(scheme.count).first == ":" {
            do {
                self = .remote(try URL(fetchable: source))
            } catch {
                self = .refused("\(error)")
            }
            return
        }
        if source.hasPrefix("//") {
            self = .refused("'\(source)' has no scheme. Write https: before it.")
            return
        }
        let encoded = source.prefix { $0 != "?" && $0 != "#" }
        guard !encoded.isEmpty else {
            self = .refused("An image has no address. Write the path of a file.")
            return
        }
        guard let bytes = encoded.percentDecodedBytes, !bytes.contains(0),
            let path = String(validating: bytes, as: UTF8.self)
        else {
            self = .refused("'\(source)' isn't a path. Percent-encode a path in UTF-8 that has no zero byte.")
            return
        }
        // The path always has a slash, so that a name that begins with ~ isn't taken for a home directory.
        let directory = document.lastIndex(of: "/").map { document[...$0] } ?? "./"
        self = .local(URL(filePath: path.hasPrefix("/") ? path : directory + path, directoryHint: .notDirectory))
    }
}
