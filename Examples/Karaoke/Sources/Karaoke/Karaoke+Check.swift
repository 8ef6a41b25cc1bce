import Foundation
import SluiceDownloads

struct Orders: Sendable {
    var anns: [DownloadHandle]
    var bens: [DownloadHandle]
    var playlist: [DownloadHandle]
}

struct Unexpected: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

extension Karaoke {
    /// Checks what the queue promises: the limit holds, no song is lost, and a song that two guests want is downloaded once.
    func check(_ orders: Orders, _ shop: SongShop) async throws {
        let counts = shop.counts
        guard counts.maximumPerGuest == 1 else {
            throw Unexpected("A guest had \(counts.maximumPerGuest) songs concurrently; the limit is 1.")
        }
        // Otherwise, the results below would wait for songs that haven't ended.
        let last = try await downloads.snapshot()
        guard last.openCount == 0, last.paused.isEmpty else {
            throw Unexpected("\(last.openCount) songs wait and \(last.count(in: .paused)) are paused after the end.")
        }

        // The songs that Ann and Ben wanted are there, byte for byte.
        var there: Set<String> = []
        for handle in orders.anns + orders.bens {
            let song = try await handle.result
            guard song.state == .done else { throw Unexpected("\(song.title) is lost: it is \(song.state).") }
            guard try Data(contentsOf: song.request.target) == SongShop.contents(of: song.title) else {
                throw Unexpected("\(song.title) isn't what the shop sent.")
            }
            there.insert(song.request.name)
        }
        let shared = try await orders.bens[0].result
        guard shared.guests == "ann, ben", counts.requests[shared.title] == 1 else {
            throw Unexpected("Ann and Ben didn't share \(shared.title).")
        }

        // Each song of the playlist was either done before Ben went home, or cancelled for him.
        var cancelledCount = 0
        for handle in orders.playlist {
            let song = try await handle.result
            switch song.state {
            case .done: there.insert(song.request.name)
            case .cancelled: cancelledCount += 1
            default: throw Unexpected("\(song.title) of the playlist is \(song.state).")
            }
        }

        // There are no other files and no partial files.
        let files = try Set(FileManager.default.contentsOfDirectory(atPath: songs.path))
        guard files == there else {
            throw Unexpected("These files are missing or too many: \(files.symmetricDifference(there).sorted()).")
        }
        let resumed = counts.resumed.isEmpty ? "none" : counts.resumed.sorted().joined(separator: ", ")
        print(
            """
            \(there.count) songs are there, \(cancelledCount) were cancelled for Ben, and none is lost.
            No guest had more than one song at a time. Continued after the break: \(resumed).
            """)
    }
}
