import Foundation
import Observation
import SluiceCache
import SluiceDownloads

/// The download queue and the cache of images of the app.
@MainActor @Observable
final class Model {
    let downloads: DownloadCoordinator
    /// What the views show of the queue.
    let list: DownloadList
    /// The cache of images; `nil` until it is open.
    private(set) var images: DecodedCache<PlatformImage>?
    /// What went wrong last, for an alert.
    private(set) var problem: String?
    /// Whether the alert is shown.
    var hasProblem: Bool {
        get { problem != nil }
        set { if !newValue { problem = nil } }
    }

    @ObservationIgnored private var running: Task<Void, Never>?

    init() {
        // On macOS, this directory may be missing. If it can't be created, the list has a failure.
        let support = URL.applicationSupportDirectory
        try? FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
        // The system may move the app's directories between two launches, so the requests have paths relative to one of them.
        downloads = DownloadCoordinator(
            store: .sqlite(at: support.appending(path: "downloads.db")),
            limits: .init(total: 4, perHost: 2),
            configuration: .init(directory: .documentsDirectory))
        list = DownloadList(downloads)
    }

    /// Opens the cache and runs the queue until the app ends. Each window calls it; it has no effect while the queue runs.
    func start() {
        guard running == nil else { return }
        running = Task {
            await openImages()
            await run()
        }
    }

    private func openImages() async {
        guard images == nil else { return }
        do {
            let cache = try await ResourceCache(directory: .cachesDirectory.appending(path: "images"))
            images = cache.platformImages(maximumPixelSize: 1024)
        } catch {
            problem = error.localizedDescription
        }
    }

    /// The run ends if the database can't be used or the disk is full. The next change by the user starts it again.
    private func run() async {
        do {
            try await downloads.run()
        } catch {
            problem = error.localizedDescription
        }
        running = nil
    }

    // MARK: What the user does

    func add(_ url: URL) {
        change { try await $0.enqueue([DownloadRequest(url, below: "Downloads")]) }
    }

    func pause(_ id: QueuedDownload.ID) { change { try await $0.pause(.ids([id])) } }
    func resume(_ id: QueuedDownload.ID) { change { try await $0.resume(.ids([id])) } }
    func retry(_ id: QueuedDownload.ID) { change { try await $0.retry(.ids([id])) } }
    func cancel(_ id: QueuedDownload.ID) { change { try await $0.cancel(.ids([id])) } }

    /// Changes the queue, and starts it again if it has ended.
    private func change(_ body: @escaping @Sendable (DownloadCoordinator) async throws -> Void) {
        start()
        Task {
            do {
                try await body(downloads)
            } catch {
                problem = error.localizedDescription
            }
        }
    }
}
