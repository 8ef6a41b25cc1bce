import Foundation
import SluiceDownloads
import SluiceFiles

/// An evening in a karaoke bar.
@main
struct Karaoke {
    static func main() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "karaoke") { directory in
            try await evening(in: directory)
        }
    }

    static func evening(in directory: URL) async throws {
        let shop = SongShop()
        // Six songs concurrently, but one at a time for each guest.
        let downloads = DownloadCoordinator(
            store: .sqlite(at: directory.appending(path: "queue.db")), transport: shop,
            limits: .init(total: 6, perHost: nil, perUser: 1),
            configuration: .init(existing: .skip, headerFields: { [.guest: $0.user ?? "guest"] }))
        let songs = directory.appending(path: "songs", directoryHint: .isDirectory)

        // The queue runs while the bar is open.
        try await downloads.withRun { downloads in
            let screen = Task { try await Screen().show(downloads.snapshots(listing: 3)) }
            defer { screen.cancel() }

            // Guests ask from several places concurrently.
            try await withThrowingTaskGroup { guests in
                guests.addTask { try await sing(one: "Dancing in the Queue", for: "ann", downloads, songs) }
                guests.addTask { try await enqueue(SongShop.top12, for: "ben", "top 12", downloads, songs) }
                guests.addTask { try await enqueue(SongShop.playlist, for: "cleo", "playlist 7", downloads, songs) }
                // Dan wants two songs that Ben wants too: they are downloaded once.
                guests.addTask {
                    try await enqueue(Array(SongShop.top12.prefix(2)), for: "dan", "dan", downloads, songs)
                }
                try await guests.waitForAll()
            }

            // Cleo goes home: the songs that are only in her playlist are cancelled.
            try await downloads.cancel(.batch("playlist 7"))
            print("Cleo went home.")

            // Dan waits for his songs.
            let wanted = try await enqueue(Array(SongShop.top12.prefix(2)), for: "dan", "dan", downloads, songs)
            for handle in wanted {
                let song = try await handle.result
                guard song.state == .done else { throw Wrong() }
                print("Dan sings \(song.request.name), \(song.bytes ?? 0) bytes.")
            }

            // Closing time. When cancel returns, no task writes any more, and no partial file remains.
            try await downloads.cancel(.all)
            print("Closing time.")
        }

        let last = try await downloads.snapshot(listing: 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: songs.path).filter { $0.contains(".sluice.") }
        try await downloads.close()
        print(
            """
            \(last.count(.done)) songs are downloaded, \(last.count(.cancelled)) were cancelled, \(last.count(.failed)) failed, \
            \(left.count) partial files remain.
            The shop served at most \(shop.maximumPerGuest) songs concurrently to one guest, and \(shop.maximumInAll) in all.
            """)
        guard last.openCount == 0, last.count(.failed) == 0, left.isEmpty, shop.maximumPerGuest == 1 else {
            throw Wrong()
        }
    }

    /// Downloads one song, shows its progress and waits for its end.
    static func sing(
        one song: String, for guest: String, _ downloads: DownloadCoordinator, _ directory: URL
    ) async throws {
        let request = DownloadRequest(SongShop.url(of: song), to: directory, user: guest, priority: 1)
        let handle = try await downloads.enqueue([request])[0]
        for await event in handle.events() {
            if case .received(_, let bytes) = event { print("\(song): \(bytes) bytes") }
        }
        guard try await handle.result.state == .done else { throw Wrong() }
        print("\(guest) sings \(song).")
    }

    @discardableResult
    static func enqueue(
        _ songs: [String], for guest: String, _ batch: String, _ downloads: DownloadCoordinator, _ directory: URL
    ) async throws -> [DownloadHandle] {
        try await downloads.enqueue(
            songs.map { DownloadRequest(SongShop.url(of: $0), to: directory, user: guest) }, batch: batch,
            keepsFinished: true)
    }

    struct Wrong: Error, CustomStringConvertible {
        var description: String { "The evening did not end as expected." }
    }
}
