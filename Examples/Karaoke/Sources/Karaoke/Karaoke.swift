import Foundation
import SluiceDownloads
import SluiceFiles

/// An evening in a karaoke bar.
@main
struct Karaoke {
    static func main() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "karaoke") { folder in
            try await evening(in: folder)
        }
    }

    static func evening(in folder: URL) async throws {
        let shop = SongShop()
        // Six songs at once, but one at a time for each guest.
        let downloads = DownloadCoordinator(
            store: .sqlite(at: folder.appending(path: "queue.db")), transport: shop,
            limits: .init(total: 6, perHost: nil, perUser: 1),
            configuration: .init(existing: .skip, headerFields: { [.guest: $0.user ?? "guest"] }))
        let songs = folder.appending(path: "songs", directoryHint: .isDirectory)

        // Somebody runs the queue, for as long as the bar is open.
        try await downloads.withRun { downloads in
            let screen = Task { try await Screen().show(downloads.snapshots(listing: 3)) }
            defer { screen.cancel() }

            // Guests ask from several places at the same time.
            try await withThrowingTaskGroup { guests in
                guests.addTask { try await sing(one: "Dancing in the Queue", for: "ann", downloads, songs) }
                guests.addTask { try await enqueue(SongShop.top12, for: "ben", "top 12", downloads, songs) }
                guests.addTask { try await enqueue(SongShop.playlist, for: "cleo", "playlist 7", downloads, songs) }
                // Dan wants what Ben wants: a song that is waited for already is joined, not fetched twice.
                guests.addTask {
                    try await enqueue(Array(SongShop.top12.prefix(2)), for: "dan", "dan", downloads, songs)
                }
                try await guests.waitForAll()
            }

            // Cleo goes home: what only her playlist wanted is not fetched any more.
            try await downloads.cancel(.batch("playlist 7"))
            print("Cleo went home.")

            // Dan waits for his songs.
            let wanted = try await enqueue(Array(SongShop.top12.prefix(2)), for: "dan", "dan", downloads, songs)
            for handle in wanted {
                let song = try await handle.result
                guard song.state == .done else { throw Wrong() }
                print("Dan sings \(song.request.name), \(song.bytes ?? 0) bytes.")
            }

            // Closing time. When cancel returns, nobody writes any more, and no half a song is left.
            try await downloads.cancel(.all)
            print("Closing time.")
        }

        let last = try await downloads.snapshot(listing: 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: songs.path).filter { $0.contains(".sluice.") }
        try await downloads.close()
        print(
            """
            \(last.count(.done)) songs are there, \(last.count(.cancelled)) were cancelled, \(last.count(.failed)) failed, \
            \(left.count) are half there.
            The shop served at most \(shop.mostAtOnceForOneGuest) at once to one guest, and \(shop.mostAtOnce) in all.
            """)
        guard last.openCount == 0, last.count(.failed) == 0, left.isEmpty, shop.mostAtOnceForOneGuest == 1 else {
            throw Wrong()
        }
    }

    /// Fetches one song and waits until it is there, with its progress.
    static func sing(one song: String, for guest: String, _ downloads: DownloadCoordinator, _ folder: URL) async throws
    {
        let request = DownloadRequest(SongShop.url(of: song), to: folder, user: guest, priority: 1)
        let handle = try await downloads.enqueue([request])[0]
        for await event in handle.events() {
            if case .received(_, let bytes) = event { print("\(song): \(bytes) bytes") }
        }
        guard try await handle.result.state == .done else { throw Wrong() }
        print("\(guest) sings \(song).")
    }

    @discardableResult
    static func enqueue(
        _ songs: [String], for guest: String, _ batch: String, _ downloads: DownloadCoordinator, _ folder: URL
    ) async throws -> [DownloadHandle] {
        try await downloads.enqueue(
            songs.map { DownloadRequest(SongShop.url(of: $0), to: folder, user: guest) }, batch: batch,
            keepsFinished: true)
    }

    struct Wrong: Error, CustomStringConvertible {
        var description: String { "the evening did not end as it should" }
    }
}
