import Foundation
import HTTPTypes
import SluiceHTTP
import Synchronization

extension HTTPField.Name {
    /// The guest of a song. The shop counts the songs of each guest.
    static let guest = Self("X-Guest")!
}

/// A shop that needs no network: it generates its songs, slowly.
///
/// A custom `Transport` downloads from any source, not only from HTTP servers.
final class SongShop: Transport {
    static let top12 = (1...12).map { "Hit \($0)" }
    static let playlist = (1...20).map { "Ballad \($0)" }

    private struct Counts {
        var now: [String: Int] = [:]
        var most = 0
        var mostForOne = 0
    }

    private let counts = Mutex(Counts())

    /// The largest number of songs that were served concurrently, to one guest and in all.
    var maximumPerGuest: Int { counts.withLock { $0.mostForOne } }
    var maximumInAll: Int { counts.withLock { $0.most } }

    static func url(of song: String) -> URL {
        var components = URLComponents()
        (components.scheme, components.host, components.path) = ("https", "songs.example", "/\(song).mp3")
        return components.url!
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let guest = request.headerFields[.guest] ?? ""
        let size = 400_000 + request.url.path().utf8.reduce(0) { ($0 &* 31 &+ Int($1)) % 200_000 }
        let song = Song(size: size) { [self] change in count(change, for: guest) }
        return TransportResponse(
            status: .ok, headerFields: [.contentLength: "\(size)"], url: request.url, body: ResponseBody(song))
    }

    private func count(_ change: Int, for guest: String) {
        counts.withLock { counts in
            counts.now[guest, default: 0] += change
            counts.mostForOne = max(counts.mostForOne, counts.now[guest, default: 0])
            counts.most = max(counts.most, counts.now.values.reduce(0, +))
        }
    }

    /// A song that arrives with 50 kB every 20 ms.
    private final class Song: ResponseBodySource {
        private let left: Mutex<Int>
        private let count: @Sendable (Int) -> Void

        init(size: Int, count: @escaping @Sendable (Int) -> Void) {
            left = Mutex(size)
            self.count = count
            count(+1)
        }

        /// A reader that ends early drops the body.
        deinit { count(-1) }

        func nextBatch() async throws -> [Data]? {
            try await Task.sleep(for: .milliseconds(20))
            let piece = left.withLock { left in
                let piece = min(left, 50_000)
                left -= piece
                return piece
            }
            return piece > 0 ? [Data(repeating: 0x5A, count: piece)] : nil
        }
    }
}
