import Foundation
import HTTPTypes
import SluiceHTTP
import Synchronization

extension HTTPField.Name {
    /// The guest who gets the song. The shop counts each guest's songs.
    static let guest = Self("X-Guest")!
}

/// A shop that sends its songs slowly and needs no network: a custom `Transport`.
///
/// It also counts, so that the program can check the limits where they matter: at the server.
final class SongShop: Transport {
    struct Counts: Sendable {
        var running: [String: Int] = [:]
        var maximumPerGuest = 0
        var requests: [String: Int] = [:]
        /// The songs whose downloads were resumed.
        var resumed: Set<String> = []
    }

    static let playlist = [
        "Take On Me", "Africa", "Billie Jean", "Like a Prayer", "Purple Rain", "Dancing Queen", "Jump", "Maniac",
    ]

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    static func url(of song: String) -> URL {
        URL(string: "https://songs.example")!.appending(path: "\(song).mp3")
    }

    static func contents(of song: String) -> Data {
        Data(String(repeating: "\(song) ", count: 80_000).utf8)
    }

    func open(_ request: TransportRequest) async throws -> TransportResponse {
        let song = request.url.deletingPathExtension().lastPathComponent
        let guest = request.headerFields[.guest] ?? ""
        let contents = Self.contents(of: song)
        // A resumed download requests the rest of its file: `Range: bytes=262144-`.
        let first = request.headerFields[.range].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0

        var fields: HTTPFields = [.eTag: "\"\(song)\"", .contentLength: "\(contents.count - first)"]
        if first > 0 { fields[.contentRange] = "bytes \(first)-\(contents.count - 1)/\(contents.count)" }
        state.withLock { counts in
            counts.requests[song, default: 0] += 1
            if first > 0 { counts.resumed.insert(song) }
            counts.running[guest, default: 0] += 1
            counts.maximumPerGuest = max(counts.maximumPerGuest, counts.running[guest, default: 0])
        }
        let body = Song(contents.dropFirst(first)) { [self] in state.withLock { $0.running[guest, default: 0] -= 1 } }
        return TransportResponse(
            status: first > 0 ? .partialContent : .ok, headerFields: fields, url: request.url, body: ResponseBody(body))
    }

    /// A song that sends 40 kB every 40 ms.
    private final class Song: ResponseBodySource {
        private let rest: Mutex<Data>
        private let onEnd: @Sendable () -> Void

        init(_ contents: Data, onEnd: @escaping @Sendable () -> Void) {
            rest = Mutex(contents)
            self.onEnd = onEnd
        }

        /// A download that stops early drops the body.
        deinit { onEnd() }

        func nextBatch() async throws -> [Data]? {
            try await Task.sleep(for: .milliseconds(40))
            let piece = rest.withLock { rest in
                let piece = rest.prefix(40_000)
                rest = rest.dropFirst(40_000)
                return Data(piece)
            }
            return piece.isEmpty ? nil : [piece]
        }
    }
}
