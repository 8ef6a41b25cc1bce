import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite struct `Interrupting a command` {
    @Test func `the first signal cancels the work, the second ends the process`() async {
        // Given work that ends only when the gate opens, cancelled or not
        let gate = Gate()
        let said = Recorder<String>()
        let signals = AsyncQueue<Void>()
        let interruption = Interruption(
            onFirst: {
                said.note("first")
                signals.enqueue(())
            },
            onSecond: {
                said.note("second")
                Task { await gate.open() }
            })
        // When
        signals.enqueue(())
        let (wasCancelled, wasInterrupted) = await interruption.guarding(signals: signals.elements) {
            await gate.pass()
            return Task.isCancelled
        }
        // Then
        #expect(said.values == ["first", "second"])
        #expect(wasCancelled && wasInterrupted)
    }

    @Test func `work without a signal just ends`() async {
        let interruption = Interruption(onFirst: {}, onSecond: {})
        let (result, wasInterrupted) = await interruption.guarding(signals: AsyncQueue<Void>().elements) { 42 }
        #expect(result == 42 && !wasInterrupted)
    }

    /// The program that was built with these tests.
    private static var program: URL? {
        let folder = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
        let program = folder.appending(path: "sluice")
        return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
    }

    @Test(.enabled(if: program != nil, "skipped: the program is not beside the tests"), arguments: [SIGINT, SIGTERM])
    func `a process that is interrupted says so, exits with 7 and leaves whole files only`(signal: Int32) async throws {
        let stalled = Gate()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try await LoopbackOrigin.serve { request in
                guard request.target != "/whole" else { return OriginResponse(body: [1, 2, 3]) }
                Task { await stalled.pass() }
                return OriginResponse(
                    announcedLength: 900_000, steps: [.send(Array(repeating: 1, count: 400_000)), .stall])
            } during: { origin in
                let process = Process()
                process.executableURL = Self.program
                process.arguments = ["get", "-j", "1", "-d", folder.path] + ["/whole", "/a", "/b"].map(origin.url)
                let errors = Pipe()
                process.standardError = errors
                let (ended, end) = Condition.makeCondition()
                process.terminationHandler = { _ in end.signal() }
                try process.run()
                await stalled.arrivals(1)
                kill(process.processIdentifier, signal)
                await ended.wait()
                let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                #expect(process.terminationReason == .exit)
                #expect(process.terminationStatus == 7, "\(text)")
                #expect(text.contains("1 of 3 files are complete") && text.contains("--no-clobber"))
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["whole"])
            }
        }
        await stalled.open()
    }
}
