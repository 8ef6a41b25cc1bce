import Foundation
import SluiceDownloads

@MainActor final class Songs {
    let downloads: DownloadCoordinator
    let list: DownloadList

    init() {
        downloads = DownloadCoordinator(
            store: .sqlite(at: .documentsDirectory.appending(path: "songs.db")),
            limits: .init(perUser: 1))
        list = DownloadList(downloads)
        downloads.start()
    }

    func add(_ song: URL, for user: String) async throws {
        try await downloads.enqueue(DownloadRequest(song, to: .documentsDirectory, user: user))
    }
}
