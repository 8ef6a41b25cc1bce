import Foundation
import SluiceConcurrency

/// A process that a test kills, of a program that was built with the tests.
struct Victim {
    private let process = Process()
    private let ended: Condition
    private let errors = Pipe()

    /// Starts the program and passes its process id to `begun`, so that other code may kill it.
    init(_ program: URL, _ arguments: [String], begun: (pid_t) -> Void = { _ in }) throws {
        let (ended, end) = Condition.makeCondition()
        self.ended = ended
        process.executableURL = program
        process.arguments = arguments
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        process.terminationHandler = { _ in end.signal() }
        try process.run()
        begun(process.processIdentifier)
    }

    /// How a process ended.
    struct End {
        /// Whether it was killed, by SIGKILL.
        var wasKilled: Bool
        /// Its exit status otherwise.
        var status: Int32
        /// What it wrote to standard error.
        var errors: String
    }

    /// Waits for the process to end, or to be killed.
    func end() async -> End {
        await ended.wait()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return End(
            wasKilled: process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL,
            status: process.terminationStatus, errors: text)
    }
}
