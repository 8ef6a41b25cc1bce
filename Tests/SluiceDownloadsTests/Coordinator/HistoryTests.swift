import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Events of the coordinator` {
    @Test func `a reader gets other coordinators' changes from its cursor on`() async throws {
        try await withQueueFile { file in
            let directory = file.deletingLastPathComponent()
            let writer = DownloadCoordinator(store: .sqlite(at: file), transport: ScriptedTransport([:]))
            let reader = DownloadCoordinator(store: .sqlite(at: file), transport: ScriptedTransport([:]))
            let requests = (0..<600).map { number in
                DownloadRequest(
                    URL(string: "https://a.example/\(number)")!, to: directory, name: "\(number)", user: "u\(number)")
            }
            try await writer.enqueue(Array(requests[..<300]))
            let cursor = try await reader.snapshot().cursor
            #expect(cursor.rawValue == 300)
            let reading = Task {
                var users: [String?] = []
                var last = cursor
                for try await event in reader.events(after: cursor) {
                    #expect(event.id.rawValue == last.rawValue + 1 && event.kind == .added)
                    last = event.id
                    users.append(event.user)
                    if users.count == 300 { break }
                }
                return users
            }
            try await writer.enqueue(Array(requests[300..<400]))
            for request in requests[400...] { try await writer.enqueue([request]) }
            #expect(try await reading.value == requests[300...].map(\.user))
            // A new reader starts from the beginning.
            var count = 0
            for try await event in writer.events() {
                count += 1
                if event.id.rawValue == 600 { break }
            }
            #expect(count == 600)
            try await writer.close()
            try await reader.close()
        }
    }

    @Test func `a cancelled reader ends, and a reader of a closed queue throws`() async throws {
        let downloads = ListDownloader(transport: ScriptedTransport([:])).coordinator()
        let reading = Task { for try await _ in downloads.events() {} }
        await Task.yield()
        reading.cancel()
        try await reading.value
        let other = Task { for try await _ in downloads.events() {} }
        try await downloads.close()
        await #expect(throws: QueueStoreError.self) {
            // A waiting reader doesn't notice by itself that an in-memory queue was closed.
            other.cancel()
            try await other.value
            for try await _ in downloads.events() {}
        }
    }
}

/// A history of millions is pruned in thousands of steps.
@Suite(.timeLimit(.minutes(15))) struct `A run with a long history` {
    @Test func `downloads while the history is pruned, until nothing is left to prune`() async throws {
        try await downloading(from: { _ in OriginResponse(body: bytes(1000)) }) { list, origin, directory in
            let (gate, steps) = (Gate(), Monitor(0))
            let store = InterceptedStore(onPruning: {
                steps.withState { $0 += 1 }
                if steps.state == 1 { await gate.pass() }
                return steps.state < 3
            })
            let time = VirtualTime()
            let coordinator = list.coordinator(store: store, time: time)
            let request = DownloadRequest(try URL(fetchable: origin.url("/song")), to: directory, name: "song")
            let handle = try await coordinator.enqueue([request])[0]
            let run = Task { try await coordinator.run { _ in } }
            await gate.arrivals(1)
            // The first step hasn't ended.
            #expect(try await handle.result.fileSize == 1000)
            await gate.open()
            for step in 2...3 {
                try await time.sleeper(for: .milliseconds(100))
                time.advance(by: .milliseconds(100))
                try await steps.waitUnlessCancelled(where: { $0 == step })
            }
            // Then once a minute.
            try await time.sleeper(for: .seconds(60))
            time.advance(by: .seconds(59))
            try await time.sleeper(for: .seconds(1))
            #expect(steps.state == 3)
            time.advance(by: .seconds(1))
            try await steps.waitUnlessCancelled(where: { $0 == 4 })
            run.cancel()
            try await run.value
        }
    }
}
