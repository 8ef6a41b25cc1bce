import Foundation

/// A child process of a program that was built with the tests.
enum Child {
    /// The outcome of the process.
    struct End: Sendable, CustomStringConvertible {
        /// Whether it was killed by SIGKILL.
        var wasKilled: Bool
        /// Its exit status otherwise.
        var status: Int32
        /// What it wrote to standard error.
        var errors: String

        var description: String { "\(wasKilled ? "killed" : "exit \(status)"): \(errors)" }
    }

    static func program(_ name: String) -> URL? {
        let directory = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
        let program = directory.appending(path: name)
        return FileManager.default.isExecutableFile(atPath: program.path) ? program : nil
    }

    static func run(_ program: URL, _ arguments: [String]) async -> End {
        await withCheckedContinuation { continuation in
            // Waiting for a process blocks.
            Thread.detachNewThread {
                let process = Process()
                process.executableURL = program
                process.arguments = arguments
                let errors = Pipe()
                process.standardError = errors
                process.standardOutput = FileHandle.nullDevice
                do {
                    try process.run()
                } catch {
                    continuation.resume(returning: End(wasKilled: false, status: -1, errors: "\(error)"))
                    return
                }
                let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                process.waitUntilExit()
                continuation.resume(
                    returning: End(
                        wasKilled: process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL,
                        status: process.terminationStatus, errors: text))
            }
        }
    }
}
