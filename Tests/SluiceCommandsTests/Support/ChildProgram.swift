import Foundation
import SluiceConcurrency
import SluiceFiles
import TestSupport

/// The program `sluice` that was built with these tests, in a child process.
enum ChildProgram {
    /// How a process ended, and what it wrote.
    struct Ended: Sendable {
        /// The exit status, or the number of the signal that ended it.
        var status: Int32
        var wasSignalled: Bool
        var output: String
        var error: String
    }

    /// Runs a line of shell code, in which `"$@"` is the program and its arguments, and waits for its end.
    ///
    /// - Parameters:
    ///   - watching: Called with the shell's process while it runs.
    ///   - readsOutput: Awaited before the output is read.
    static func run(
        _ line: String, _ arguments: [String],
        watching: @escaping @Sendable (Process) async throws -> Void = { _ in },
        readsOutput: @escaping @Sendable () async -> Void = {}
    ) async throws -> Ended {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", line, "sh", try builtProgram("sluice").path] + arguments
        process.standardInput = FileHandle.nullDevice
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        let (ended, end) = Condition.makeCondition()
        process.terminationHandler = { _ in end.signal() }
        try process.run()
        let texts = try await withTaskCancellationHandler {
            async let outputText = text(of: output, after: readsOutput)
            async let errorText = text(of: errors)
            try await watching(process)
            let texts = try await (outputText, errorText)
            await ended.wait()
            return texts
        } onCancel: {
            // The time limit of the test is reached.
            kill(process.processIdentifier, SIGKILL)
        }
        return Ended(
            status: process.terminationStatus, wasSignalled: process.terminationReason == .uncaughtSignal,
            output: texts.0, error: texts.1)
    }

    private static func text(of pipe: Pipe, after ready: @Sendable () async -> Void = {}) async throws -> String {
        await ready()
        let data = try await FileIO.shared.readToEnd(
            descriptor: pipe.fileHandleForReading.fileDescriptor, name: "output", maximumSize: 64 << 20)
        withExtendedLifetime(pipe) {}
        return String(decoding: data, as: UTF8.self)
    }
}
