import Foundation
import SluiceDownloads

@MainActor final class Songs {
    let downloads = DownloadCoordinator(
        store: .sqlite(at: .documentsDirectory.appending(path: "songs.db")),
        limits: .init(perUser: 1))
}
