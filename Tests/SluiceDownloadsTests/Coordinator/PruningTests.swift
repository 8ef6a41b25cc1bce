import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceDownloads
import SluiceHTTP
import TestSupport
import Testing

/// A history of millions is pruned in thousands of steps.
@Suite(.timeLimit(.minutes(5))) struct `A run with a long history` {
    @Test func `downloads while the history is pruned, and goes on pruning while there is more`() async throws {
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
            #expect(try await handle.result.bytes == 1000)
            await gate.open()
            for step in 2...3 {
                try await time.sleeper(until: .milliseconds(100))
                time.advance(by: .milliseconds(100))
                try await steps.waitUnlessCancelled(where: { $0 == step })
            }
            // Then once a minute.
            time.advance(by: .seconds(59))
            try await time.sleeper(until: .seconds(1))
            #expect(steps.state == 3)
            time.advance(by: .seconds(1))
            try await steps.waitUnlessCancelled(where: { $0 == 4 })
            run.cancel()
            try await run.value
        }
    }
}
