import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

/// Several users want the same file.
@Suite(.timeLimit(.minutes(15))) struct `A download of several users` {
    private func request(_ name: String, _ origin: LoopbackOrigin, _ directory: URL, user: String?) throws
        -> DownloadRequest
    {
        DownloadRequest(try URL(fetchable: origin.url("/\(name)")), to: directory, name: name, user: user)
    }

    private func running(_ downloads: DownloadCoordinator, _ body: () async throws -> Void) async throws {
        let run = Task { try await downloads.run() }
        let result = await Result { try await body() }
        run.cancel()
        try await run.value
        try result.get()
    }

    @Test(arguments: [0, 1]) func `when either user leaves, the other gets the file`(_ leaver: Int) async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                let users = ["ann", "ben"]
                var handles: [DownloadHandle] = []
                for user in users {
                    handles += try await downloads.enqueue([try request("song", origin, directory, user: user)])
                }
                #expect(handles.map(\.admission) == [.added, .joined])
                await gate.arrivals(1)
                let events = handles[leaver].events()
                try await downloads.cancel(.user(users[leaver], ids: [handles[leaver].id]))
                #expect(try await handles[leaver].result.state == .cancelled)
                await #expect(throws: CancellationError.self) { try await handles[leaver].file }
                var outcomes: [DownloadEvent] = []
                for await event in events { outcomes.append(event) }
                guard case .finished(_, .cancelled) = outcomes.last else {
                    return #expect(Bool(false), "\(outcomes)")
                }
                let running = try await downloads.snapshot().running
                #expect(running.map(\.download.request.user) == [users[1 - leaver]])
                await gate.open()
                #expect(try await handles[1 - leaver].file == directory.appending(path: "song"))
                // The request of the user who left stays cancelled, even after the download has ended.
                #expect(try await handles[leaver].result.state == .cancelled)
            }
            #expect(try names(in: directory) == ["song"])
            #expect(origin.metrics.requests == 1)
        }
    }

    @Test func `when the last user leaves, the download ends and its partial file is removed`() async throws {
        try await downloading { _ in
            OriginResponse(announcedLength: 900_000, steps: [.send(bytes(300_000)), .stall])
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                for user in ["ann", "ben"] {
                    try await downloads.enqueue([try request("song", origin, directory, user: user)])
                }
                for try await snapshot in downloads.snapshots()
                where snapshot.running.contains(where: { $0.receivedBytes > 0 }) {
                    break
                }
                try await downloads.cancel(.user("ben"))
                #expect(try await downloads.snapshot().count(in: .running) == 1)
                try await downloads.cancel(.user("ann"))
                #expect(try await downloads.snapshot().count(in: .cancelled) == 1)
                #expect(try names(in: directory) == [])
            }
        }
    }

    @Test func `a paused download keeps its bytes and resumes from them`() async throws {
        let content = bytes(900_000)
        try await downloading { request in
            guard request.attempt == 1 else { return .file(content, etag: "\"v1\"", request: request) }
            return OriginResponse(
                headerFields: [.eTag: "\"v1\""], announcedLength: content.count,
                steps: [.send(Array(content.prefix(300_000))), .stall])
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                let handle = try await downloads.enqueue([try request("song", origin, directory, user: "ann")])[0]
                for try await snapshot in downloads.snapshots()
                where snapshot.running.contains(where: { $0.receivedBytes == 300_000 }) { break }
                try await downloads.pause(.user("ann"))
                let paused = try await downloads.snapshot()
                #expect(paused.paused.map(\.id) == [handle.id] && paused.openCount == 0)
                #expect(try names(in: directory).contains("song.sluice.part"))
                let events = handle.events()
                #expect(try await downloads.resume(.all).changedCount == 1)
                var resumed: Int64?
                for await event in events { if case .responded(_, _, let bytes) = event { resumed = bytes } }
                #expect(try await handle.result.fileSize == 900_000)
                #expect(resumed ?? 0 > 0)
            }
            #expect(try names(in: directory) == ["song"])
            #expect(try Data(contentsOf: directory.appending(path: "song")) == Data(content))
        }
    }

    /// The transaction that stops the job also claims it again, so nothing shows that it stopped.
    @Test(arguments: [false, true])
    func `cancel and pause return if the stop is revoked before it's recorded`(isCancelled: Bool) async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let isRevoked = Gate()
            let store = InterceptedStore { store, settlements, claim in
                if !settlements.isEmpty { await isRevoked.pass() }
                return try await store.takeTurn(settlements, claiming: claim)
            }
            let downloads = list.coordinator(store: store)
            let song = try request("song", origin, directory, user: "ann")
            try await running(downloads) {
                let handle = try await downloads.enqueue([song])[0]
                await gate.arrivals(1)
                async let stopping = isCancelled ? downloads.cancel(.all) : downloads.pause(.all)
                await isRevoked.arrivals(1)
                if isCancelled {
                    try await downloads.enqueue([song])
                } else {
                    try await downloads.resume(.all)
                }
                await isRevoked.open()
                await gate.arrivals(2)
                let report = try await stopping
                #expect(report == .init(changedCount: 1))
                #expect(try await downloads.snapshot().counts == [.running: 1])
                await gate.open()
                if !isCancelled { #expect(try await handle.result.state == .done) }
            }
        }
    }

    @Test func `a download that is paused and resumed while its transfer stops completes`() async throws {
        let gate = Gate()
        try await downloading { _ in
            await gate.pass()
            return OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            try await running(downloads) {
                let handle = try await downloads.enqueue([try request("song", origin, directory, user: nil)])[0]
                await gate.arrivals(1)
                for _ in 0..<20 {
                    async let pausing = downloads.pause(.all)
                    try await downloads.resume(.all)
                    _ = try await pausing
                    try await downloads.resume(.all)
                }
                await gate.open()
                #expect(try await handle.result.state == .done)
            }
        }
    }

    @Test func `a run until the queue is empty ends despite paused downloads`() async throws {
        try await downloading { _ in
            OriginResponse(body: bytes(1000))
        } during: { list, origin, directory in
            let downloads = list.coordinator()
            for user in ["ann", "ben"] {
                try await downloads.enqueue([try request(user, origin, directory, user: user)])
            }
            try await downloads.pause(.user("ann"))
            try await downloads.run(until: .whenEmpty)
            let snapshot = try await downloads.snapshot()
            #expect(snapshot.counts == [.paused: 1, .done: 1])
            #expect(try names(in: directory) == ["ben"])
        }
    }
}
