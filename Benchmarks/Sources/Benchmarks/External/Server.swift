import Foundation
import SluiceFiles

/// A server on a port of 127.0.0.1.
struct Server {
    var program: URL
    var arguments: [String]
    var port: UInt16
    /// Where it writes its errors.
    var log: URL?

    /// Runs the server while `body` runs. `childUsage` starts it, and stops it when its standard input ends. That also happens when this process
    /// is killed.
    func run(_ childUsage: URL, _ body: () async throws -> Void) async throws {
        let process = Process()
        process.executableURL = childUsage
        process.arguments = ["--serve", program.path] + arguments
        let input = Pipe()
        process.standardInput = input
        try process.run()
        do {
            try await waitUntilReady(process)
            try await body()
        } catch {
            try? await stop(process, input)
            throw error
        }
        try await stop(process, input)
    }

    private func waitUntilReady(_ process: Process) async throws {
        for _ in 0..<400 {
            if Loopback.accepts(port) { return }
            if !process.isRunning { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        var errors = Data()
        if let log { errors = (try? await Data(asyncContentsOf: log)) ?? Data() }
        throw RowFailure.missing(
            "\(program.lastPathComponent) did not start: \(String(decoding: errors, as: UTF8.self))")
    }

    /// Closes the server's input and waits. ChildUsage kills a server that doesn't stop in time.
    private func stop(_ process: Process, _ input: Pipe) async throws {
        try input.fileHandleForWriting.close()
        for _ in 0..<1_000 {
            if !process.isRunning { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw RowFailure.leftBehind(
            "\(program.lastPathComponent) under process \(process.processIdentifier) did not stop")
    }
}

/// A relay in front of a server that makes it a distant one. `Peers/delaying-relay.py` delays the bytes in each direction.
enum DelayingRelay {
    /// Runs a relay to the server on `target` while `body` runs, and passes it the relay's port.
    static func serve(
        _ target: UInt16, roundTrip milliseconds: Int, childUsage: URL, _ body: (UInt16) async throws -> Void
    ) async throws {
        let port = try Loopback.freePort()
        let script = Programs.project.appending(path: "Benchmarks/Peers/delaying-relay.py")
        let arguments = [script.path, "\(port)", "\(target)", "\(Double(milliseconds) / 2)"]
        let relay = Server(program: try Programs.found("python3"), arguments: arguments, port: port)
        try await relay.run(childUsage) { try await body(port) }
    }
}
