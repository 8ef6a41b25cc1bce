import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Interrupting a command` {
    @Test(arguments: [true, false])
    func `the same command goes on where it was stopped, within files, too`(hasDatabase: Bool) async throws {
        let content = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let reached = Gate()
        let stalls = Guarded(true)
        let ranges = Recorder<String>()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                ranges.note("\(request.target) \(request.headerFields[.range] ?? "whole")")
                guard request.target != "/first", stalls.withLock({ $0 }) else {
                    return .file(content, etag: "\"v1\"", request: request)
                }
                var response = OriginResponse.file(content, etag: "\"v1\"", request: request, sending: 600_000)
                response.steps.insert(.perform { Task { await reached.pass() } }, at: 1)
                return response
            } during: { origin in
                let files = directory.appending(path: "files")
                try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
                var arguments = ["get", "-q", "-j", "1", "-d", files.path]
                if hasDatabase { arguments += ["--db", directory.appending(path: "queue.db").path] }
                arguments += ["/first", "/second", "/third"].map(origin.url)

                let changes = try await FileIO.shared.changes(of: files, kinds: .modified)
                let first = try Self.start(arguments)
                await reached.arrivals(1)
                // What was sent has arrived when it is in the partial file, or about to be.
                for try await change in changes where change.name == "second.sluice.part" { break }
                kill(first.process.processIdentifier, SIGINT)
                await first.ended.wait()
                #expect(first.process.terminationStatus == 7)
                let kept = try Self.size(of: files.appending(path: "second.sluice.part"))
                #expect(kept > 0)

                stalls.withLock { $0 = false }
                let second = try Self.start(hasDatabase ? arguments : arguments + ["--no-clobber"])
                await second.ended.wait()
                #expect(second.process.terminationStatus == 0)
                #expect(ranges.values == ["/first whole", "/second whole", "/second bytes=\(kept)-", "/third whole"])
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: files.path).sorted()
                        == ["first", "second", "third"])
                for name in ["first", "second", "third"] {
                    let data = try Data(contentsOf: files.appending(path: name))
                    #expect(data.elementsEqual(content))
                }
            }
        }
        await reached.open()
    }

    private static func size(of file: URL) throws -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    private static func start(_ arguments: [String]) throws -> (process: Process, ended: Condition) {
        let process = Process()
        process.executableURL = try builtProgram("sluice")
        process.arguments = arguments
        let (ended, end) = Condition.makeCondition()
        process.terminationHandler = { _ in end.signal() }
        try process.run()
        return (process, ended)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a process that is interrupted says so, exits with 7 and leaves whole files only`(signal: Int32) async throws {
        let stalled = Gate()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                guard request.target != "/whole" else { return OriginResponse(body: [1, 2, 3]) }
                Task { await stalled.pass() }
                return OriginResponse(
                    announcedLength: 900_000, steps: [.send(Array(repeating: 1, count: 400_000)), .stall])
            } during: { origin in
                let process = Process()
                process.executableURL = try builtProgram("sluice")
                process.arguments = ["get", "-j", "1", "-d", directory.path] + ["/whole", "/a", "/b"].map(origin.url)
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
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["whole"])
            }
        }
        await stalled.open()
    }
}
