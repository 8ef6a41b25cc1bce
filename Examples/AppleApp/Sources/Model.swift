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
        // Until the app ends. If the disk is full, for example, the list has a failure until the queue can go on.
        downloads.start()
    }

    /// Opens the cache. Each window calls it.
    func openImages() async {
        guard images == nil else { return }
        do {
            let cache = try await ResourceCache(directory: .cachesDirectory.appending(path: "images"))
            images = cache.platformImages(maximumPixelSize: 1024)
        } catch {
            problem = error.localizedDescription
        }
    }

    // MARK: What the user does

    func add(_ url: URL) {
        change { try await $0.enqueue(DownloadRequest(url, below: "Downloads")) }
    }

    func pause(_ id: QueuedDownload.ID) { change { try await $0.pause(.ids([id])) } }
    func resume(_ id: QueuedDownload.ID) { change { try await $0.resume(.ids([id])) } }
    func retry(_ id: QueuedDownload.ID) { change { try await $0.retry(.ids([id])) } }
    func cancel(_ id: QueuedDownload.ID) { change { try await $0.cancel(.ids([id])) } }

    private func change(_ body: @escaping @Sendable (DownloadCoordinator) async throws -> Void) {
        Task {
            do {
                try await body(downloads)
            } catch {
                problem = error.localizedDescription
            }
        }
    }
}
