import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

/// Proves that no thread blocks, neither one of the cooperative pool nor one of the engine.
@Suite(.timeLimit(.minutes(5))) struct `Heartbeats` {
    /// Reads a file again and again while a heart beats, and expects both to come to their end.
    private static func expectLife(_ io: FileIO, _ directory: URL) async throws {
        let file = directory.appending(path: "file")
        try await pattern(100_000).asyncWrite(to: file, options: .init(durability: .none), using: io)
        async let beats = Task {
            // Each beat is a turn of a thread of the cooperative pool.
            await suspend(times: 100)
            return 100
        }.value
        for _ in 0..<30 {
            let read = try await Data(asyncContentsOf: file, using: io)
            #expect(same(read, pattern(100_000)))
        }
        #expect(await beats == 100)
    }

    // In a child process: it takes hundreds of descriptors.
    @Test func `while 128 FIFOs wait for their other side, files are read, and the heart beats`() async {
        await #expect(processExitsWith: .success) {
            try await withIO(concurrency: 2) { io, directory in
                let reading = (0..<64).map { makeFIFO(directory, "r\($0)") }
                let opening = (0..<64).map { makeFIFO(directory, "w\($0)") }
                let reads = reading.map { url in Task { try await Data(asyncContentsOf: url, using: io) } }
                let opens = opening.map { url in
                    Task { try await url.withFileForWriting(using: io) { try await $0.write(pattern(1)) } }
                }
                try await io.waitForStatistics { $0.readinessWaitingCount >= 64 }
                try await Self.expectLife(io, directory)
                #expect(io.statistics.readinessWaitingCount == 64)
                for task in reads { task.cancel() }
                for task in opens { task.cancel() }
                for task in reads { await #expect(throws: CancellationError.self) { try await task.value } }
                for task in opens { await #expect(throws: CancellationError.self) { try await task.value } }
                // Those of the lane itself.
                #expect(io.statistics.openCount == 2 && io.statistics.readinessWaitingCount == 0)
            }
        }
    }

    // In a child process: it takes hundreds of descriptors.
    @Test func `while handles of pipes, sockets and terminals are silent, files are read, and the heart beats`() async {
        await #expect(processExitsWith: .success) {
            try await withIO(concurrency: 2) { io, directory in
                let pipes = (0..<64).map { _ in TestPipe() }
                let ends = (0..<64).map { _ in Ends.sockets() } + (0..<16).map { _ in Ends.terminal() }
                defer { for end in ends { end.close() } }
                let silent = pipes.map(\.reading) + ends.map(\.ours)
                let reads = silent.map { descriptor in
                    Task {
                        for try await _ in FileHandle(fileDescriptor: descriptor).chunks(using: io) { return false }
                        return true
                    }
                }
                // And no program takes what is written to these.
                let full = pipes.map(\.writing).prefix(0) + ends.map(\.theirs)
                let writes = full.prefix(64).map { descriptor in
                    Task { try await FileHandle(fileDescriptor: descriptor).asyncWrite(pattern(1_000_000), using: io) }
                }
                for task in reads.dropFirst(64).prefix(64) { _ = try await task.value }
                try await io.waitForStatistics { $0.readinessWaitingCount >= 64 + 16 + 64 }
                try await Self.expectLife(io, directory)
                for task in reads { task.cancel() }
                for task in writes { task.cancel() }
                for task in reads { _ = await task.result }
                for task in writes { await expectFileError(.cancelled) { try await task.value } }
                #expect(io.statistics.readinessWaitingCount == 0)
            }
        }
    }

    @Test func `a slow disk does not stop FIFOs that are open, nor do they stop the disk`() async throws {
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.inline.read = { _, _, _ in -Int(EAGAIN) }
        calls.read = { descriptor, buffer in
            gate.pass()
            return SystemCalls.system.read(descriptor, buffer)
        }
        try await withIO(concurrency: 2, calls: calls) { io, directory in
            let url = makeFIFO(directory)
            let file = directory.appending(path: "file")
            try pattern(10_000).write(to: file)
            let reader = try await url.openForReading(using: io)
            let writer = try await url.openForWriting(using: io)
            let stuck = (0..<8).map { _ in Task { try await Data(asyncContentsOf: file, using: io) } }
            await gate.waitForThreads(2)
            try await io.waitForStatistics { $0.waitingCount >= 6 }
            // Both threads are stuck. A FIFO is read, written and closed all the same.
            for round in 0..<50 {
                try await writer.write(pattern(1000, seed: UInt8(round)))
                let read = try await reader.read(upToCount: 1000)
                #expect(same(read, pattern(1000, seed: UInt8(round))))
            }
            let pipe = TestPipe()
            async let piped = io.readToEnd(descriptor: pipe.reading, name: "pipe")
            try await io.write(pattern(300_000), descriptor: pipe.writing, name: "pipe")
            pipe.closeWriting()
            #expect(same(try await piped, pattern(300_000)))
            try await writer.close()
            let rest = try await reader.readToEnd()
            #expect(rest.isEmpty)
            try await reader.close()
            #expect(io.statistics.runningCount == 2 && io.statistics.waitingCount == 6)
            gate.open()
            for task in stuck {
                let read = try await task.value
                #expect(same(read, pattern(10_000)))
            }
        }
    }
}
