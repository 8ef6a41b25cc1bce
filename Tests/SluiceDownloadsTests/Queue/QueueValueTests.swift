import Foundation
import HTTPTypes
import SluiceFiles
import SluiceHTTP
import Testing

@testable import SluiceDownloads

private let url = URL(string: "https://me:secret@a.example/song.mp3?token=1")!

@Suite struct `A stored error` {
    /// The list of codes comes from docs/api. A code that isn't known when a stored error is read loses its meaning.
    @Test func `keeps the meaning of every code of SluiceHTTP and SluiceDownloads`() throws {
        var names: Set<String> = []
        for module in ["SluiceHTTP", "SluiceDownloads"] {
            let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
            let api = try String(contentsOf: root.appending(path: "docs/api/\(module).txt"), encoding: .utf8)
            for line in api.split(separator: "\n") where line.contains(": static let ") {
                if let name = line.prefixMatch(of: /TransferError\.Code\.(\w+):/)?.1 { names.insert(String(name)) }
            }
        }
        #expect(names.count > 20 && names == Set(StoredError.knownCodes.keys))
    }

    @Test func `with parts that don't match the stored description is read as unknown`() {
        let error = TransferError(.stalled, url: url, detail: "for 30 s")
        #expect(TransferError(line: "\(error)", parts: error.stored, url: url) == error)
        for parts in [error.stored, nil, "", "{}", "[]", "{\"code\":7}", String(repeating: "[", count: 100_000)] {
            let older = TransferError(line: "a.example: Something else.", parts: parts, url: url)
            #expect(older.code == .unknown && older.description == "a.example: Something else." && !older.isTransient)
        }
    }

    @Test func `from a newer version keeps its code and its texts, and isn't transient`() {
        let parts = #"{"code":"eclipse","subject":"a","message":"It is dark.","remedy":"Wait.","sun":0}"#
        let error = TransferError(line: "a: It is dark. Wait.", parts: parts, url: url)
        #expect(error.code.description == "eclipse" && error.remedy == "Wait." && !error.isTransient)
    }

    @Test(arguments: [-1, 0, 99, 1000, Int.max, .min])
    func `with an impossible status or attempt count is read without it`(_ number: Int) {
        let parts = #"{"code":"status","subject":"a","message":"b","status":\#(number),"attempts":\#(min(number, 1))}"#
        let error = TransferError(line: "a: b", parts: parts, url: url)
        #expect(error.code == .status && error.status == nil && error.attempts == 1)
    }
}

@Suite struct `A value of a queue` {
    private func decoded<T: Codable>(_ value: T) throws -> T {
        try JSONDecoder().decode(T.self, from: try JSONEncoder().encode(value))
    }

    private var download: QueuedDownload {
        var error = TransferError(status: .serviceUnavailable, url: url)
        error.attempts = 3
        var download = QueuedDownload(
            id: QueuedDownload.ID(rawValue: 7),
            request: DownloadRequest(url, to: URL(filePath: "/music/"), name: "Größe 1.mp3", user: "me", priority: -2),
            members: [.init(user: "me", batch: "b", priority: 3, isPaused: true), .init()], state: .running,
            failureCount: 2, fileSize: 9, error: error, notBefore: Date(timeIntervalSince1970: 1))
        download.isCancelling = true
        return download
    }

    @Test func `survives encoding and decoding, including the secrets in its URLs`() throws {
        let snapshot = QueueSnapshot(
            counts: [.waiting: 2, .done: 1], running: [.init(download: download, receivedBytes: 3, totalBytes: 4)],
            waiting: [download],
            ended: [QueuedDownload(id: .init(rawValue: 8), request: download.request, state: .done)],
            hosts: [.init(name: "a.example", notBefore: .distantFuture, isUnreachable: true)],
            cursor: .init(rawValue: 5))
        #expect(try decoded(snapshot) == snapshot)
        let event = QueueEvent(
            id: .init(rawValue: 1), time: .distantPast, download: .init(rawValue: 2), kind: .retrying, user: "me",
            batch: "b",
            fileSize: 3, message: "slow")
        #expect(try decoded(event) == event)
        for request in [
            DownloadRequest(resolving: "a/b c?", to: URL(filePath: "/music/")),
            try DownloadRequest(url, below: "playlists/7é"), try DownloadRequest(url, below: ""),
        ] {
            #expect(try decoded(request) == request)
        }
    }

    @Test func `is encoded with state names as keys and without header fields`() throws {
        var request = download.request
        request.headerFields = [.authorization: "Bearer secret"]
        let json = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        #expect(!json.contains("Bearer"))
        #expect(try decoded(request) == download.request)
        let counts = try JSONEncoder().encode(QueueSnapshot(counts: [.waiting: 2]))
        #expect(String(decoding: counts, as: UTF8.self).contains(#""counts":{"waiting":2}"#))
    }

    @Test(arguments: [
        #"{"url":"https://a.example/","directory":"https://a.example/music/","priority":0}"#,
        #"{"url":"https://a.example/","directory":"../up/","priority":0}"#,
        #"{"url":"","directory":"file:///music/","priority":0}"#, #"{"directory":"file:///music/"}"#, "[]",
    ])
    func `that is invalid throws an error without its secrets`(_ json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(DownloadRequest.self, from: Data(json.utf8))
        }
    }

    @Test func `gets a safe file name when it is decoded`() throws {
        let json = #"{"url":"https://a.example/x","directory":"file:///music/","name":"../../etc/passwd"}"#
        let request = try JSONDecoder().decode(DownloadRequest.self, from: Data(json.utf8))
        #expect(request.name == "passwd" && request.target == URL(filePath: "/music/passwd"))
    }
}
