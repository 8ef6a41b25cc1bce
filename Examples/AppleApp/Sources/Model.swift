import Foundation
import Observation
import SluiceCache
import SluiceDownloads

/// The app's download queue and image cache.
@MainActor @Observable
final class Model {
    let downloads: DownloadCoordinator
    /// The part of the queue that the views show.
    let list: DownloadList
    let images = ResourceCache(directory: .cachesDirectory.appending(path: "images"))
        .platformImages(keepsThumbnails: true)
    /// The latest problem, for an alert.
    private(set) var problem: String?
    /// Whether the alert is shown.
    var hasProblem: Bool {
        get { problem != nil }
        set { if !newValue { problem = nil } }
    }

    init() {
        // On macOS, this directory may be missing. If it can't be created, the list shows a failure.
        let support = URL.applicationSupportDirectory
        try? FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
        // The system may move the app's directories between two launches, so the requests use paths relative to one of them.
        downloads = DownloadCoordinator(
            store: .sqlite(at: support.appending(path: "downloads.db")),
            limits: .init(total: 4, perHost: 2),
            configuration: .init(directory: .documentsDirectory))
        list = DownloadList(downloads)
        // Runs until the app ends. If the queue can't continue, for example because the disk is full, the list shows a failure until it
        // can.
        downloads.start()
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
