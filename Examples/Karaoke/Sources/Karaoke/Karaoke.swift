import Foundation
import SluiceDownloads
import SluiceFiles

/// Two guests of a karaoke bar fill one queue of songs.
@main @MainActor
struct Karaoke {
    let downloads: DownloadCoordinator
    let songs: URL

    static func main() async throws {
        do {
            try await FileIO.shared.withTemporaryDirectory(prefix: "karaoke") { directory in
                try await open(in: directory)
            }
        } catch let problem as Unexpected {
            fflush(nil)
            FileHandle.standardError.write(Data("error: \(problem)\n".utf8))
            exit(1)
        }
    }

    static func open(in directory: URL) async throws {
        let shop = SongShop()
        // At most four songs at a time, and one per guest.
        let downloads = DownloadCoordinator(
            store: .sqlite(at: directory.appending(path: "queue.db")), transport: shop,
            limits: .init(total: 4, perHost: nil, perUser: 1),
            configuration: .init(headerFields: { [.guest: $0.user ?? ""] }))
        let karaoke = Karaoke(
            downloads: downloads, songs: directory.appending(path: "songs", directoryHint: .isDirectory))

        // The queue runs while the bar is open.
        downloads.start()
        let orders = try await karaoke.evening(Screen(DownloadList(downloads, listing: 5)))
        try await karaoke.check(orders, shop)
        try await downloads.close()
    }

    func evening(_ screen: Screen) async throws -> Orders {
        defer { screen.clear() }
        // Both want Waterloo. It is downloaded once, and each of them gets a handle.
        let anns = try await order(["Waterloo", "Fernando", "Angeleyes"], for: "ann")
        let bens = try await order(["Waterloo"], for: "ben")
        // Ben also orders a playlist, and Ann orders a song that is in it.
        let playlist = try await order(SongShop.playlist, for: "ben", batch: "the 80s")
        let shared = try await order(["Dancing Queen"], for: "ann")
        for handle in [anns[0], bens[0]] { try await sing(handle, screen) }

        // Ann takes a break in the middle of a song, which keeps its partial file. Ben's songs continue.
        for await case .received(_, let bytes) in anns[1].events() where bytes > 400_000 { break }
        try await downloads.pause(.user("ann"))
        screen.say("Ann takes a break.")
        try await Task.sleep(for: .seconds(1))

        // This cancels only Ben's requests: Dancing Queen stays in the queue, because Ann wants it, too.
        try await downloads.cancel(.batch("the 80s"))
        screen.say("Ben goes home. His playlist is cancelled, but not the song that Ann wants too.")

        try await downloads.resume(.user("ann"))
        screen.say("Ann is back.")
        for handle in anns[1...] + shared { try await sing(handle, screen) }
        return Orders(anns: anns + shared, bens: bens, playlist: playlist)
    }

    /// Adds songs to the queue, without waiting for the downloads. The handles do that.
    func order(_ titles: [String], for guest: String, batch: String? = nil) async throws -> [DownloadHandle] {
        let requests = titles.map { DownloadRequest(SongShop.url(of: $0), to: songs, user: guest) }
        return try await downloads.enqueue(requests, batch: batch)
    }

    /// Waits until a song is downloaded.
    func sing(_ handle: DownloadHandle, _ screen: Screen) async throws {
        let song = try await handle.result
        guard song.state == .done else { throw Unexpected("\(song.title) is \(song.state)") }
        screen.say("\(handle.request.user?.capitalized ?? "?") sings \(song.title).")
    }
}
