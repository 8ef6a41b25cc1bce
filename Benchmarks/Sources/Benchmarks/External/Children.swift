import Foundation
import SluiceFiles

/// Runs programs and measures their resources.
struct Children {
    /// The resources that a child process and its children used.
    struct Usage {
        var seconds: Double
        var processorSeconds: Double
        var peakBytes: Double

        func sample(operations: Int, bytes: Int) -> Sample {
            Sample(
                operations: operations, bytes: bytes, seconds: seconds, processorSeconds: processorSeconds,
                peakBytes: peakBytes)
        }
    }

    /// The path of ChildUsage, which starts the programs, resets their signals and ends them if they hang.
    let childUsage: URL
    /// The file for ChildUsage's report.
    let report: URL

    /// Runs a program until it exits, and throws if its status isn't 0. Its standard output is discarded.
    func run(_ program: URL, _ arguments: [String]) async throws -> Usage {
        let process = Process()
        process.executableURL = childUsage
        process.arguments = [report.path, program.path] + arguments
        // The records of `sluice get` aren't those of the user.
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["XDG_STATE_HOME": report.deletingLastPathComponent().path]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        // curl draws the progress of parallel transfers even with -s.
        if program.lastPathComponent != "sluice" { process.standardError = FileHandle.nullDevice }
        let status = try await process.status()
        guard status == 0 else {
            throw RowFailure.wrongResult(
                "\(program.lastPathComponent) \(arguments.prefix(3).joined(separator: " ")) … ended with \(status)")
        }
        let text = String(decoding: try await Data(asyncContentsOf: report), as: UTF8.self)
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 3 else { throw RowFailure.wrongResult("\(childUsage.path) reported “\(text)”") }
        return Usage(seconds: numbers[0], processorSeconds: numbers[1], peakBytes: numbers[2])
    }
}

extension Process {
    /// Starts the process and waits until it exits, without blocking a thread.
    fileprivate func status() async throws -> Int32 {
        try await withCheckedThrowingContinuation { continuation in
            terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try run() } catch { continuation.resume(throwing: error) }
        }
    }
}
