import SluiceConcurrency
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Borrowed connections` {
    @Test func `are as many as the downloads leave free`() async throws {
        let connections = HostConnections(limit: 3)
        let gate = Gate()
        try await withThrowingTaskGroup(of: Int?.self) { group in
            try await connections.withDownload(from: "a") {
                for number in 0..<3 {
                    group.addTask {
                        try await connections.borrow(from: "a") {
                            await gate.pass()
                            return number
                        }
                    }
                }
                await gate.arrivals(2)
                // Another host has its own.
                let other = try await connections.borrow(from: "b") { true }
                #expect(other == true)
                await gate.open()
                // The third waits until another one is returned.
                var count = 0
                while let result = try await group.next() { count += result == nil ? 0 : 1 }
                #expect(count == 3)
            }
        }
    }

    @Test func `go back to a download that begins, before it continues`() async throws {
        let connections = HostConnections(limit: 2)
        let borrowed = Gate()
        let events = Recorder<String>()
        try await connections.withDownload(from: "a") {
            async let loan: Void? = connections.borrow(from: "a") {
                await borrowed.pass()
                // Runs until it is cancelled, because the connection has to be returned.
                try? await Monitor(0).waitUnlessCancelled { $0 > 0 }
                events.note("returned")
            }
            await borrowed.arrivals(1)
            await borrowed.open()
            try await connections.withDownload(from: "a") { events.note("second download") }
            #expect(try await loan == nil)
        }
        #expect(events.values == ["returned", "second download"])
    }

    @Test func `wait no longer once their task is cancelled`() async throws {
        let connections = HostConnections(limit: 1)
        try await connections.withDownload(from: "a") {
            let waiting = Task { try await connections.borrow(from: "a") { true } }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        // Nothing was left behind.
        #expect(try await connections.borrow(from: "a") { true } == true)
    }

    @Test func `don't keep a download waiting if there are more downloads than the limit says`() async throws {
        let connections = HostConnections(limit: 1)
        try await connections.withDownload(from: "a") {
            let hasRun = try await connections.withDownload(from: "a") { true }
            #expect(hasRun)
        }
    }

    @Test func `are unlimited without a limit`() async throws {
        let connections = HostConnections(limit: nil)
        #expect(try await connections.withDownload(from: "a") { try await connections.borrow(from: "a") { 1 } } == 1)
    }
}
